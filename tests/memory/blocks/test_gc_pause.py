"""No collection begins while many objects are made, and Python collects again afterwards, whatever happened."""

import gc
import threading

import pytest

from memory.blocks.history import uncollected


def test_it_is_on_again_when_the_last_is_through() -> None:
    assert gc.isenabled()
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        with uncollected():
            begun.set()
            over.wait(30)

    thread = threading.Thread(target=work)
    with uncollected():
        thread.start()
        assert begun.wait(30)
        with uncollected():
            assert not gc.isenabled()
    assert not gc.isenabled(), "the other thread is still at it"
    over.set()
    thread.join()
    assert gc.isenabled()


def test_an_error_switches_it_on_again_and_where_it_was_off_it_stays_off() -> None:
    with pytest.raises(ValueError, match="x"), uncollected():
        raise ValueError("x")
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
