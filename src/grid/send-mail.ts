import type { OutgoingMail } from '../deps.ts'
import type { Store } from '../store/store.ts'
import { takeMailAttempt } from './throttle.ts'

/**
 * Queue a mail if the limits allow it: to this person, for the client that caused it, and for the whole grid.
 * `address` is the client's, as the limits count it. Resolves to whether it was queued; callers must
 * not show that to strangers, since it tells what others asked for. Security A1.
 */
export async function sendMail(store: Store, mail: OutgoingMail, address: string): Promise<boolean> {
  const allowed = await takeMailAttempt(store, mail.to, address)
  if (allowed) store.deps.mail.send(mail)
  else store.deps.log.info('A mail was not sent: over a limit', { kind: mail.kind })
  return allowed
}
