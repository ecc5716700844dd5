/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Rows of messages that wait for the visitor's decision. */
import { endsSoon } from '../../grid/approvals/held.ts'
import { NeedCard, type NeedRow } from '../../html/attention.tsx'
import { Name } from '../../html/bidi.tsx'
import { Time } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import type { HeldRow } from '../../store/account/held.ts'
import { oneLine } from '../../lib/one-line.ts'
import type { Visit } from '../visit.ts'

/**
 * Lists messages that wait for the visitor's decision. Renders nothing if there are none. Messages with the same
 * sender, recipient, rule and text share a row. The row links to the message that expires first, or with `isWhole`
 * expands to all of them. `max` is the maximum number of rows, `total` the number of waiting messages.
 */
export function HeldForYou(
  { visit, held, max, total, isShort, isWhole }: {
    visit: Visit
    held: HeldRow[]
    max?: number
    total: number
    isShort?: boolean
    isWhole?: boolean
  },
) {
  if (held.length === 0) return null
  const groups = new Map<string, HeldRow[]>()
  for (const one of held) groups.set(likenessOf(one), [...groups.get(likenessOf(one)) ?? [], one])
  return (
    <NeedCard
      title='Waiting for your decision'
      all={visit.path('held')}
      max={max}
      total={isWhole ? undefined : total}
      isShort={isShort}
      rows={[...groups.values()].map((group) => rowOf(visit, group, isWhole))}
    >
      {isWhole && total > held.length && (
        <p class='inside checked'>
          {held.length} of {total.toLocaleString('en')} are shown, the first to expire.
        </p>
      )}
    </NeedCard>
  )
}

/** Whether both messages have the same sender, recipient, rule and text. */
export function isAlike(one: HeldRow, other: HeldRow): boolean {
  return likenessOf(one) === likenessOf(other)
}

function likenessOf({ fromAlias, via, recipient, rule, body }: HeldRow): string {
  return JSON.stringify([fromAlias, via, recipient, rule.id, body])
}

function rowOf(visit: Visit, group: HeldRow[], isFold?: boolean): NeedRow {
  const isFolded = isFold && group.length > 1
  const now = visit.account.deps.now()
  const [{ id, fromAlias, via, recipient, body, rule, expiresAt }] = group
  const isUrgent = endsSoon(expiresAt, now)
  return {
    icon: 'guardrails',
    tone: isUrgent ? 'bad' : 'warning',
    isUrgent,
    href: isFolded ? undefined : visit.path('held', id),
    folded: isFolded ? { rows: group.map((one) => rowOf(visit, [one])) } : undefined,
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
