"""Work in parts, and the library for matrix products held to one thread meanwhile."""

import concurrent.futures
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from svmlab.threads import one_blas_thread, share_out


def blas_threads() -> set[int]:
    np.eye(2) @ np.eye(2)
    return {lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()}


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 7, 8, 100])
def test_the_parts_cover_everything_once_and_end_at_steps(n, n_jobs, parts):
    done = []
    share_out(lambda first, stop: done.append((first, stop)), n, 8, n_jobs, parts)
    done.sort()
    assert [first for first, _ in done] == [0, *(stop for _, stop in done[:-1])]
    assert done[-1][1] == n
    assert all(stop % 8 == 0 for _, stop in done[:-1])
    assert len(done) <= n_jobs * parts


def test_no_more_threads_are_started_than_there_are_parts(monkeypatch):
    started = []
    pool = concurrent.futures.ThreadPoolExecutor
    monkeypatch.setattr(
        concurrent.futures, "ThreadPoolExecutor", lambda n: started.append(n) or pool(n)
    )
    for n in (5, 8, 9, 24):
        share_out(lambda first, stop: None, n, 8, 64)
    assert started == [1, 2]  # of two parts and of three, beside the caller


def test_what_goes_wrong_in_a_thread_is_raised():
    caller, done = threading.current_thread(), threading.Event()

    def work(first: int, stop: int) -> None:
        if threading.current_thread() is caller:
            done.wait(60.0)  # so that the other part is another thread's
        else:
            done.set()
            raise IndexError("in a thread")

    with pytest.raises(IndexError, match="in a thread"):
        share_out(work, 100, 8, 2)


def test_one_blas_thread_is_held_until_its_holder_leaves():
    @one_blas_thread()
    def look() -> None:
        seen.append(blas_threads())

    seen: list[set[int]] = []
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            look()
            other = threading.Thread(target=look)
            other.start()
            other.join()
            look()
        assert seen == [{1}, {1}, {1}]
        assert blas_threads() == {2}


def test_an_error_gives_the_threads_back():
    @one_blas_thread()
    def stop() -> None:
        assert blas_threads() == {1}
        raise KeyboardInterrupt

    with threadpool_limits(2, user_api="blas"):
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                stop()
            assert blas_threads() == {2}
