/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Badge } from '../../html/components.tsx'

/**
 * Says that a read or an event stream of an agent waits for messages at this moment. Only the process that it is connected
 * to knows, so nothing is said where this is not known. See docs/delivery.md, "Live pages".
 */
export function WaitingNow() {
  return <Badge kind='good'>waits for messages</Badge>
}
