#!/usr/bin/env bash
# Packs a real SGLang 0.5.12.post1 for a GPU machine without network that has Python 3.12, torch 2.11 (CUDA 13), triton
# and what else torch needs: make_bundle.sh [FOLDER] writes FOLDER/site.tar.xz (.sgl; 43 MB, about two minutes).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-.sgl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/wheels" "$work/site"
platforms=(any manylinux1_x86_64 manylinux2014_x86_64)
for glibc in 17 24 26 27 28 31 34; do platforms+=("manylinux_2_${glibc}_x86_64"); done
python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
  "${platforms[@]/#/--platform=}" -d "$work/wheels" -r "$here/pins-0.5.12.post1.txt"
for wheel in "$work"/wheels/*.whl; do
  case $wheel in
    # One GPU generation, no FlashAttention 3 (1 GB), no NCCL rebuild: launch with --attention-backend triton.
    */sglang_kernel-*)
      unzip -q -o "$wheel" -d "$work/site" \
        -x 'sgl_kernel/flash_ops*' 'sgl_kernel/sm100/*' 'sgl_kernel/flashmla*' 'lib/*' 'include/*' '_mscclpp*'
      ;;
    *) unzip -q -o "$wheel" -d "$work/site" ;;
  esac
done
rm -rf "$work"/site/torchao/_C*
XZ_OPT='-6 -T2' tar cJf "$out/site.tar.xz" -C "$work/site" .
ls -l "$out/site.tar.xz"
