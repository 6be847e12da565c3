"""OpenAI's fine-tuning script in Python; prints what it got as JSON."""

import json
import sys
import time
from pathlib import Path

from openai import OpenAI

BASE_URL, MODEL, ROWS = sys.argv[1:]
# Strict: the package checks every field.
client = OpenAI(base_url=BASE_URL, api_key="none", _strict_response_validation=True)
with Path(ROWS).open("rb") as rows:
    file = client.files.create(file=rows, purpose="fine-tune")
hyperparameters = {"n_epochs": 40, "learning_rate_multiplier": 100}
job = client.fine_tuning.jobs.create(
    training_file=file.id,
    model=MODEL,
    method={"type": "supervised", "supervised": {"hyperparameters": hyperparameters}},
)
first = job.status
while job.finished_at is None:
    time.sleep(0.1)
    job = client.fine_tuning.jobs.retrieve(job.id)
events = client.fine_tuning.jobs.list_events(job.id, limit=10)
checkpoints = client.fine_tuning.jobs.checkpoints.list(job.id)
answer = client.chat.completions.create(
    model=job.fine_tuned_model, messages=[{"role": "user", "content": "7"}], max_tokens=8
)
print(
    json.dumps(
        {
            "statuses": [first, job.status],
            "jobs": [one.id == job.id for one in client.fine_tuning.jobs.list()],
            "message": events.data[0].message,
            "steps": [one.step_number for one in checkpoints],
            "csv": client.files.content(job.result_files[0]).text.split("\n")[0],
            "answer": answer.choices[0].message.content,
            "deleted": client.files.delete(file.id).deleted,
        }
    )
)
