/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What waits for the decision of the visitor, as rows. */
import { endsSoon } from '../../grid/approvals/held.ts'
import { NeedCard, type NeedRow } from '../../html/attention.tsx'
import { Name } from '../../html/bidi.tsx'
import { Time } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import type { HeldRow } from '../../store/account/held.ts'
import { oneLine } from '../conversations/shown.ts'
import type { Visit } from '../visit.ts'

/**
 * Nothing if there is none. `max`: of those with the same sender, recipient, rule and text only the first to expire is a
 * row, and at most so many are. `total`: how many wait.
 */
export function HeldForYou(
  { visit, held, max, total = held.length, isShort }: {
    visit: Visit
    held: HeldRow[]
    max?: number
    total?: number
    isShort?: boolean
  },
) {
  if (held.length === 0) return null
  const groups = max === undefined ? held.map((one) => [one]) : alike(held)
  return (
    <NeedCard
      title='Waiting for your decision'
      all={visit.path('held')}
      max={max}
      total={total}
      isShort={isShort}
      rows={groups.map((group) => rowOf(visit, group))}
    />
  )
}

function alike(held: HeldRow[]): HeldRow[][] {
  const groups = new Map<string, HeldRow[]>()
  for (const one of held) {
    const key = JSON.stringify([one.fromAlias, one.via, one.recipient, one.rule.id, one.body])
    groups.set(key, [...groups.get(key) ?? [], one])
  }
  return [...groups.values()]
}

function rowOf(visit: Visit, group: HeldRow[]): NeedRow {
  const now = visit.account.deps.now()
  const [{ id, fromAlias, via, recipient, body, rule, expiresAt }] = group
  const isUrgent = endsSoon(expiresAt, now)
  return {
    icon: 'guardrails',
    tone: isUrgent ? 'bad' : 'warning',
    isUrgent,
    href: visit.path('held', id),
    what: (
      <>
        <Name text={`@${fromAlias}`} /> <Via via={via} /> to <Name text={recipient} />: <Name text={oneLine(body)} />
      </>
    ),
    facts: [
      group.length > 1 && `${group.length} like this`,
      <>
        held by <Name text={rule.name} />
      </>,
    ],
    at: (
      <span class={isUrgent ? 'bad' : undefined}>
        <span class='word'>expires</span> <Time at={expiresAt} now={now} />
      </span>
    ),
  }
}
