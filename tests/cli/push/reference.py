"""Reads a pushed repository's card, and pushes a folder by the reference client to the same hub."""

import json
import sys

from huggingface_hub import HfApi, ModelCard

repo, folder = sys.argv[1:]
card = ModelCard.load(repo)
api = HfApi()
api.create_repo("ada/python", private=True)
found = {
    "base": card.data.base_model,
    "library": card.data.library_name,
    "license": card.data.license,
    "tags": card.data.tags,
    "results": [[result.metric_type, result.metric_value] for result in card.data.eval_results],
    "commits": [api.upload_folder(repo_id="ada/python", folder_path=folder).oid for _ in range(2)],
}
print(json.dumps(found))
