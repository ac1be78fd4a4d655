import numpy as np

import kai


@kai.policy.score
def fgd(pod, nodes):
    mix, idle, take = nodes.typical_pods, nodes.gpu_idle_milli, nodes.pod_gpu_milli[:, None]
    levels, level = np.unique(np.maximum(mix.gpu_milli, 1), return_inverse=True)
    usable_by = (mix.allowed & (mix.gpus > 0)[:, None]).T[nodes.kind] * mix.weight

    def fragment(cpu_milli, idle, usable_by):  # of a node per row: thousandths, times all weights
        enough = idle[:, :, None] >= levels  # nodes, cards, levels
        cards, usable = enough.sum(1), (idle[:, :, None] * enough).sum(1)
        fits = (cpu_milli[:, None] >= mix.cpu_milli) & (cards[:, level] >= mix.gpus)
        return mix.weight.sum() * idle.sum(1) - (fits * usable_by * usable[:, level]).sum(1)

    def scores(after):  # whole numbers from 0 to 100, as published
        milli = (before - after.T).T / mix.weight.sum()
        return np.trunc(1 / (1 + np.exp(-milli / 1000)) * 100)

    before = fragment(nodes.cpu_idle_milli, idle, usable_by)
    cpu_milli = nodes.cpu_idle_milli - pod.cpu_milli
    if pod.shares and pod.gpus == 1:  # each card of a node is tried
        cards = idle.shape[1]
        tried = (idle[:, None, :] - take[:, :, None] * np.eye(cards, dtype=int)).reshape(-1, cards)
        after = fragment(np.repeat(cpu_milli, cards), tried, np.repeat(usable_by, cards, axis=0))
        each = np.where(idle >= take, scores(after.reshape(-1, cards)), -1)
        return each.max(1), each.argmax(1)
    fullest = np.sort(idle, axis=1)  # other pods get the fullest cards that have enough
    taken = (fullest >= take) & ((fullest >= take).cumsum(1) <= pod.gpus)
    return scores(fragment(cpu_milli, fullest - taken * take, usable_by))
