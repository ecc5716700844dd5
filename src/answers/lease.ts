/** What happens to a lease once its answer is sent, or is not. See docs/delivery.md, "When a reader dies". */
import type { Lease } from '../grid/messaging/read-messages.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'

/** To be called before the answer with the leased messages is sent. */
export async function settleLease(lease: Lease, connection: CallerConnection | undefined): Promise<void> {
  if (await connection?.hasLeft()) await lease.release()
  else endLease(lease, connection)
}

/** To be called when the answer is sent. Some runtimes report later whether it was taken. */
export function endLease(lease: Lease, connection: CallerConnection | undefined): void {
  const taken = connection?.answerTaken()
  if (!taken) return lease.ack()
  void taken.then((isTaken) => isTaken ? lease.ack() : lease.release())
}
