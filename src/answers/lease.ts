/** Ends a lease depending on whether its response was delivered. See docs/delivery.md, "When a reader dies". */
import type { Lease } from '../grid/messaging/read-messages.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'

/** Call this before sending the response with the leased messages. */
export async function settleLease(lease: Lease, connection: CallerConnection | undefined): Promise<void> {
  if (await connection?.hasLeft()) await lease.release()
  else endLease(lease, connection)
}

/** Call this when sending the response. Some runtimes report only later whether it was delivered. */
export function endLease(lease: Lease, connection: CallerConnection | undefined): void {
  const taken = connection?.answerTaken()
  if (!taken) return lease.ack()
  void taken.then((isTaken) => isTaken ? lease.ack() : lease.release())
}
