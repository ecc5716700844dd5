/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Badge, Time } from '../../html/components.tsx'
import { type Presence, presenceWords } from '../../lib/presence.ts'

/** Who is at an agent, or when it was last seen. See docs/delivery.md, "Presence". */
export function PresenceNow(
  { presence, lastSeenAt, now }: { presence: Presence | undefined; lastSeenAt: number | null; now: number },
) {
  if (presence) {
    const words = presenceWords(presence, lastSeenAt, now)
    return (
      <Badge kind={presence.state === 'waiting' ? undefined : 'good'} title={meaning[presence.state]}>{words}</Badge>
    )
  }
  if (lastSeenAt === null) return <span class='soft'>never</span>
  return <Time at={lastSeenAt} now={now} />
}

const meaning: Record<Presence['state'], string> = {
  attended: 'A session of a person listens for messages',
  runner: 'A program runs it while nobody attends it',
  waiting: 'A read or a stream waits for messages',
}
