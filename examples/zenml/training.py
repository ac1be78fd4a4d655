"""Classifies irises: with PyTorch if it is installed, and on a GPU if there is one."""

from __future__ import annotations

import importlib.util
from typing import Any

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

Flowers = dict[str, list[Any]]
"""Four lengths of each flower under "features", its species under "targets"."""


def load() -> tuple[Flowers, Flowers]:
    """Flowers for training, and flowers for the evaluation."""
    features, targets = load_iris(return_X_y=True)
    split = train_test_split(features, targets, test_size=0.2, random_state=0, stratify=targets)
    learn_x, judge_x, learn_y, judge_y = (each.tolist() for each in split)
    return {"features": learn_x, "targets": learn_y}, {"features": judge_x, "targets": judge_y}


def train(learn: Flowers, judge: Flowers, *, gpu: bool) -> float:
    """Trains on the first flowers; returns the accuracy on the second flowers."""
    if importlib.util.find_spec("torch") is not None:
        return _with_torch(learn, judge, gpu=gpu)
    model = LogisticRegression(max_iter=500).fit(learn["features"], learn["targets"])
    return float(model.score(judge["features"], judge["targets"]))


def _with_torch(learn: Flowers, judge: Flowers, *, gpu: bool) -> float:
    import torch

    torch.manual_seed(0)
    device = torch.device("cuda" if gpu and torch.cuda.is_available() else "cpu")
    print(f"training with PyTorch {torch.__version__} on {device}")
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(
        device
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    features = torch.tensor(learn["features"], device=device)
    targets = torch.tensor(learn["targets"], device=device)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), targets).backward()
        optimizer.step()
    with torch.no_grad():
        kinds = model(torch.tensor(judge["features"], device=device)).argmax(dim=1)
    return float((kinds == torch.tensor(judge["targets"], device=device)).float().mean())
