/** Observes idle reads and streams, which have checked their inbox, found nothing new, and wait to be woken. */
import type { Signal } from '../../src/lib/notifier.ts'
import type { Store } from '../../src/store/store.ts'
import { waitFor } from './wait-for.ts'

/**
 * Tracks reads and streams that start from now on in the process of `store`. The returned function resolves when
 * exactly `count` of them are idle. A woken read or stream becomes idle again only after it has checked its inbox.
 */
export function followIdle({ waiting: { notifier } }: Pick<Store, 'waiting'>): (count: number) => Promise<void> {
  const idle = new Set<Signal>()
  const [subscribe, watch] = [notifier.subscribe.bind(notifier), notifier.watch.bind(notifier)]
  notifier.subscribe = (agentId, signal) => subscribe(agentId, followed(signal))
  notifier.watch = (id, signal) => watch(id, 'raised' in signal ? followed(signal as Signal) : signal)
  function followed(signal: Signal): Signal {
    const [raise, raised] = [signal.raise.bind(signal), signal.raised.bind(signal)]
    let isRaised = false
    signal.raise = () => {
      isRaised = true
      idle.delete(signal)
      raise()
    }
    signal.raised = async () => {
      if (!isRaised) idle.add(signal)
      await raised()
      idle.delete(signal)
      isRaised = false
    }
    return signal
  }
  return async (count) => {
    await waitFor(`${count} idle reads and streams`, () => idle.size === count)
  }
}
