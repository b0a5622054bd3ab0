"""Write the DeepSeek pair of tests/sglang_cpu/kit with the attention of the real models: deepseek_pair.py OUT.

For the kit's latent of 64 + 32 Triton's decode kernel for MLA (SGLang 0.5.12.post1) does not compile for a graph
("incompatible dimensions at index 1: 64 and 128"), and eager such servers die by an illegal memory access. What the
draft accepts has no part in it: attention is multiplied by zero.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "sglang_cpu" / "kit"))

import make_pair

if __name__ == "__main__":
    make_pair.DEEPSEEK.update(kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)
    sys.argv[1:] = [*sys.argv[1:], "--arch", "deepseek", "--ids", "2,3,6"]
    make_pair.main()
