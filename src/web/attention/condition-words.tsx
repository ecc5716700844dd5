/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What needs a person, in words, and what can be done about it. */
import type { Child } from 'hono/jsx'
import { type Condition, keyOldMs, maxCounted } from '../../grid/attention.ts'
import { nearlyUsed } from '../../grid/messaging/quota.ts'
import type { NeedRow } from '../../html/attention.tsx'
import { Name } from '../../html/bidi.tsx'
import { Time } from '../../html/components.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ButtonForm, ButtonLink } from '../../html/form.tsx'
import { writePath } from '../../html/paths.ts'
import { presenceWords } from '../../presence.ts'
import type { FeatureCondition } from '../../store/account.ts'
import type { FullInbox } from '../../store/account/usage.ts'
import { actorOf } from '../accounts/activity-rows.tsx'
import { reasonOf } from '../accounts/activity-sentences.ts'
import { Resume } from '../conversations/paused.tsx'
import { pluralize } from '../listing.tsx'
import { settingsPath } from '../settings.tsx'
import type { FeatureWords, Visit } from '../visit.ts'

type Words = Omit<NeedRow, 'actions'>

const maxNamed = 8

type Follower = Extract<Condition, { kind: 'follower' }>['of']['follower']
/** Where a person misses what a follower of the log does, and what it takes in. */
const missed: Record<Follower, { place: string; noun: string }> = {
  conversations: { place: 'Conversations', noun: 'message' },
  traffic: { place: 'Network', noun: 'message' },
  search: { place: 'Search', noun: 'message' },
  'webhook messages': { place: 'Webhooks', noun: 'message' },
  'webhook events': { place: 'Webhooks', noun: 'event' },
  'browser messages': { place: 'Notifications', noun: 'message' },
  'browser events': { place: 'Notifications', noun: 'event' },
  'task notices': { place: 'Push notifications of tasks', noun: 'event' },
}

/** A condition in words. `now` is in milliseconds since the epoch. */
export function inWords(visit: Pick<Visit, 'features'>, condition: Condition, now: number): Words {
  const time = (at: number) => <Time at={at} now={now} />
  const since = condition.since === null ? undefined : time(condition.since)
  switch (condition.kind) {
    case 'paused': {
      const { agents, turns } = condition.of
      return {
        icon: 'conversations',
        tone: 'bad',
        what: <>{named(agents)} {agents.length === 1 ? 'is' : 'are'} paused</>,
        facts: [turnsInHour(turns), 'their messages are refused', since],
      }
    }
    case 'guardrail': {
      const { name, unchecked, refused, isFailing, failure } = condition.of
      return {
        icon: 'guardrails',
        tone: 'bad',
        what: (
          <>
            The guardrail <Name text={name} />{' '}
            {unchecked + refused === 0 ? 'does not work' : `could not check ${count(unchecked + refused, 'message')}`}
          </>
        ),
        facts: [
          unchecked > 0 && `${unchecked.toLocaleString('en')} delivered unchecked`,
          refused > 0 && `${refused.toLocaleString('en')} not delivered`,
          isFailing ? failure : 'it works again',
          since && (isFailing ? <>failing since {since}</> : <>first {since}</>),
        ],
      }
    }
    case 'task': {
      const { client, recipient, state, quietSince } = condition.of
      const isFailed = state === 'failed' || state === 'rejected'
      return {
        icon: 'tasks',
        tone: isFailed ? 'bad' : 'warning',
        what: isFailed
          ? <>A task of {named([client])} for {named([recipient])} {state === 'failed' ? 'failed' : 'was rejected'}</>
          : quietSince === null
          ? <>{named([recipient])} needs input of {named([client])} for a task</>
          : (
            <>
              {named([recipient])} has said nothing about a task of {named([client])} for{' '}
              {durationInWords(now - quietSince)}
            </>
          ),
        facts: [quietSince === null ? since : 'it is working'],
      }
    }
    case 'blocked': {
      const { name, messages } = condition.of
      return {
        icon: 'guardrails',
        tone: 'warning',
        what: (
          <>
            The guardrail <Name text={name} /> blocked {count(messages, 'message')}
          </>
        ),
        facts: ['within a day', since && <>first {since}</>],
      }
    }
    case 'released': {
      const { alias, messages, releases } = condition.of
      return {
        icon: 'again',
        tone: 'bad',
        what: <>{named([alias])} takes messages, and they come back unread</>,
        facts: [
          count(messages, 'message'),
          `up to ${releases.toLocaleString('en')} times`,
          since && <>oldest {since}</>,
        ],
      }
    }
    case 'remote': {
      const { alias, pausedAt, failingSince, error, dueAt, unread } = condition.of
      const isPaused = pausedAt !== null
      return {
        icon: 'warning',
        tone: isPaused ? 'warning' : 'bad',
        what: isPaused
          ? <>{named([alias])} is paused</>
          : <>Messages to {named([alias])} have failed for {durationInWords(now - failingSince!)}</>,
        facts: [
          `${atMost(unread)} waiting`,
          isPaused ? since : error,
          !isPaused && dueAt !== null && <>next attempt {time(dueAt)}</>,
        ],
      }
    }
    case 'webhook':
    case 'domain':
      return wordsOf(visit, condition.kind).inWords(condition.of, now)
    case 'follower': {
      const { follower, leftOut } = condition.of
      const { place, noun } = missed[follower]
      return {
        icon: 'warning',
        tone: 'bad',
        what: leftOut > 0 ? `${place}: ${count(leftOut, noun)} left out after errors` : `${place}: stands still`,
        facts: ['the log of the server says why', since],
      }
    }
    case 'parked': {
      const { alias, isDeleted, messages, releases, reason } = condition.of
      return {
        icon: 'warning',
        tone: 'bad',
        what: <>{count(messages, 'message')} to {named([alias])} {messages === 1 ? 'is' : 'are'} parked</>,
        facts: [
          isDeleted
            ? 'the agent was deleted'
            : releases > 0
            ? 'they came back again and again'
            : reason !== null
            ? <Name text={reason} />
            : 'they cannot be shown',
          since,
        ],
      }
    }
    case 'inbox': {
      const { alias, unread, max, refused } = condition.of
      const isFull = unread >= max
      return {
        icon: 'inbox',
        tone: isFull ? 'bad' : 'warning',
        what: <>The inbox of {named([alias])} is {fullness(condition.of)}</>,
        facts: [
          `${unread.toLocaleString('en')} of ${max.toLocaleString('en')} unread messages`,
          refused > 0 && `${count(refused, 'message')} refused today`,
          refused === 0 && (isFull ? 'further messages are refused' : 'then messages are refused'),
        ],
      }
    }
    case 'unread': {
      const { alias, unread, sender, presence, lastSeenAt } = condition.of
      return {
        icon: 'inbox',
        tone: 'warning',
        what: <>{named([alias])} has not read for {durationInWords(now - condition.of.since)}</>,
        facts: [
          `${atMost(unread)} waiting`,
          sender && <>oldest from {named([sender])}</>,
          // Whether its program is gone, or is there and does not read.
          presence
            ? `there now: ${presenceWords(presence, lastSeenAt, now)}`
            : lastSeenAt === null
            ? 'never seen'
            : <>last seen {time(lastSeenAt)}</>,
        ],
      }
    }
    case 'person': {
      const { alias, messages, conversations, since } = condition.of
      return {
        icon: 'people',
        tone: 'warning',
        what: <>{named([alias])} has not answered for {durationInWords(now - since)}</>,
        facts: [`${count(messages, 'message')} in ${pluralize(conversations, 'conversation')}`],
      }
    }
    case 'refused': {
      const { calls, outcome } = condition.of
      const { name, credential } = actorOf(condition.of)
      return {
        icon: 'activity',
        tone: 'warning',
        what: <>{name}: {count(calls, 'call')} {calls === 1 ? 'was' : 'were'} refused</>,
        facts: [credential, `the last: ${reasonOf(outcome)}`, since && <>since {since}</>],
      }
    }
    case 'turns': {
      const { agents, turns } = condition.of
      return {
        icon: 'conversations',
        tone: 'warning',
        what: <>{named(agents)} keep answering each other</>,
        facts: [turnsInHour(turns)],
      }
    }
    case 'quota': {
      const { quota, used, max } = condition.of
      const unit = quota === 'messages' ? 'messages' : 'MB'
      return {
        icon: 'overview',
        tone: used >= max ? 'bad' : 'warning',
        what: used >= max
          ? `The quota of ${unit} a day is used up`
          : `${Math.floor(used / max * 100)} % of the quota of ${unit} a day is used`,
        facts: [
          `${used.toLocaleString('en')} of ${max.toLocaleString('en')} ${unit}`,
          `${used >= max ? 'sends are refused' : 'then sends are refused'} until midnight UTC`,
        ],
      }
    }
    case 'claim': {
      const { agents, trialEndsAt } = condition.of
      return {
        icon: 'agents',
        tone: 'info',
        what: `${count(agents, 'agent')} signed up for you`,
        facts: [trialEndsAt === null ? 'the trial has ended' : <>the trial ends {time(trialEndsAt)}</>],
      }
    }
    case 'access': {
      const { alias, partner } = condition.of
      return {
        icon: 'key',
        tone: 'warning',
        what: <>{named([partner])}, on the access list of {named([alias])}, exists now: is it the one you meant?</>,
        facts: ['until you confirm it, it is not let in'],
      }
    }
    case 'key': {
      const { kind, name, last4, alias, createdAt, lastUsedAt } = condition.of
      const isOld = now - createdAt >= keyOldMs
      const unused = lastUsedAt === null
        ? 'was never used'
        : isOld
        ? undefined
        : `was not used for ${durationInWords(now - lastUsedAt)}`
      return {
        icon: 'key',
        tone: 'info',
        what: (
          <>
            {kind === 'admin_key'
              ? (
                <>
                  The admin key “<Name text={name} />” …{last4}
                </>
              )
              : <>The key …{last4} of {alias && named([alias])}</>}{' '}
            {unused ?? `is ${durationInWords(now - createdAt)} old`}
          </>
        ),
        facts: [<>made {time(createdAt)}</>, lastUsedAt !== null && <>used {time(lastUsedAt)}</>],
      }
    }
  }
}

/** The words of the feature that reports conditions of this kind. */
function wordsOf({ features }: Pick<Visit, 'features'>, kind: FeatureCondition['kind']): FeatureWords {
  return features.flatMap(({ conditions }) => conditions?.[kind] ?? [])[0]
}

/** What the visitor can do about a condition: one button, or two that answer its question. */
export function actionOf(visit: Visit, condition: Condition): Child {
  const { path, may, membership } = visit
  const open = (href: string, title = 'Open') => <ButtonLink href={href} isSmall>{title}</ButtonLink>
  switch (condition.kind) {
    case 'paused':
      return <Resume visit={visit} conversation={condition.of.key} />
    case 'guardrail':
    case 'blocked':
      return open(path('guardrails', condition.of.guardrailId))
    case 'task':
      return open(path('messages', String(condition.of.seq)))
    case 'released':
    case 'remote':
    case 'inbox':
    case 'unread':
      return open(path('agents', condition.of.alias))
    case 'webhook':
    case 'domain':
      return wordsOf(visit, condition.kind).action(visit)
    case 'person':
      return may('use') && open(writePath(membership.id, `@${condition.of.alias}`), 'Write')
    case 'parked':
      return condition.of.isDeleted
        ? open(`${path('activity')}?tool=admin_delete_agent`, 'See who did')
        : open(path('agents', condition.of.alias))
    case 'turns':
      return open(`${path('agents')}?search=${encodeURIComponent(condition.of.agents[0])}`, 'See agents')
    case 'refused': {
      const { credentialId, userId } = condition.of
      const who = credentialId ? `&who=key:${credentialId}` : userId ? `&who=user:${userId}` : ''
      return open(`${path('activity')}?outcome=refused${who}`, 'See calls')
    }
    case 'follower':
      return false
    case 'quota':
      return open(path('overview'), 'See usage')
    case 'claim':
      return open(`/claims/${condition.of.provisionalId}`, 'Claim')
    case 'access': {
      const list = ['agents', condition.of.alias, 'access', condition.of.partner]
      return may('manage') && (
        <>
          <ButtonForm action={path(...list, 'confirm')} kind='plain' isSmall>Confirm</ButtonForm>
          <ButtonForm action={path(...list, 'remove')} kind='quiet' isSmall>Remove</ButtonForm>
        </>
      )
    }
    case 'key':
      return condition.of.alias
        ? open(path('agents', condition.of.alias), 'Replace')
        : open(settingsPath({ path }, 'account'), 'Replace')
  }
}

function turnsInHour(turns: number): string {
  return `${turns.toLocaleString('en')} turns within an hour without a message of a person`
}

/** How full an inbox is, in words. What is not nearly full refuses messages of other accounts alone. */
export function fullness({ unread, max }: FullInbox): string {
  if (unread >= max) return 'full'
  const percent = Math.floor(unread / max * 100)
  return percent >= nearlyUsed * 100 ? `${percent} % full` : 'full for other accounts'
}

function named(aliases: readonly string[]): Child {
  const more = aliases.length - maxNamed
  return (
    <>
      {aliases.slice(0, maxNamed).map((alias, index) => (
        <>
          {index > 0 && ', '}
          <bdi>@{alias}</bdi>
        </>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  )
}

function count(n: number, noun: string): string {
  return n >= maxCounted ? `${atMost(n)} ${noun}s` : pluralize(n, noun)
}

/** A number that is counted up to `maxCounted`. */
function atMost(n: number): string {
  return n >= maxCounted ? `${maxCounted.toLocaleString('en')} or more` : n.toLocaleString('en')
}
