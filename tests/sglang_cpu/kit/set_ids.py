"""setids.py PAIR NAME IDS|none -- write PAIR/NAME: the draft of PAIR with other eagle_aux_hidden_state_layer_ids."""

import json
import os
import sys

pair, name, ids = sys.argv[1:]
os.makedirs(f"{pair}/{name}", exist_ok=True)
weights = f"{pair}/{name}/model.safetensors"
if not os.path.lexists(weights):
    os.symlink("../draft/model.safetensors", weights)
config = json.load(open(f"{pair}/draft/config.json"))
config["eagle_config"].pop("eagle_aux_hidden_state_layer_ids", None)
if ids != "none":
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [int(x) for x in ids.split(",")]
json.dump(config, open(f"{pair}/{name}/config.json", "w"), indent=1)
