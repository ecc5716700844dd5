/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Describes items that need a person, and their actions. */
import type { Child } from 'hono/jsx'
import { type Condition, keyOldMs, maxCounted } from '../../grid/attention/attention.ts'
import { nearlyUsed } from '../../grid/message/quota.ts'
import type { NeedRow } from '../../html/attention.tsx'
import { Name } from '../../html/bidi.tsx'
import { Time } from '../../html/components.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { writePath } from '../../html/paths.ts'
import { presenceWords } from '../../presence.ts'
import type { FeatureCondition } from '../../store/account.ts'
import type { SeenTask } from '../../store/account/seen-tasks.ts'
import type { FullInbox } from '../../store/account/usage.ts'
import { actorOf } from '../accounts/activity-rows.tsx'
import { reasonOf } from '../accounts/activity-sentences.ts'
import { Resume } from '../conversations/paused.tsx'
import type { Origin } from '../forms.tsx'
import { oneLine } from '../../lib/one-line.ts'
import { pluralize } from '../listing.tsx'
import { settingsPath } from '../settings.tsx'
import type { FeatureWords, Visit } from '../visit.ts'

type Words = Pick<NeedRow, 'icon' | 'tone' | 'what' | 'facts' | 'at'>

const maxNamed = 8
/** Maximum number of items named in a summary row. */
const maxFolded = 3

type Follower = Extract<Condition, { kind: 'follower' }>['of']['follower']
/** For each log follower, where people notice that it has stopped, and the noun for the entries it processes. */
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

/** Describes a condition. `now` is in milliseconds since the epoch. */
export function inWords(visit: Pick<Visit, 'features'>, condition: Condition, now: number): Words {
  const time = (at: number) => <Time at={at} now={now} />
  const at = condition.since === null ? undefined : time(condition.since)
  switch (condition.kind) {
    case 'paused': {
      const { agents, turns } = condition.of
      return {
        icon: 'conversations',
        tone: 'bad',
        what: <>The conversation of {named(agents, ' and ')} is paused</>,
        facts: [turnsInHour(turns), 'their messages are refused'],
        at,
      }
    }
    case 'guardrail': {
      const { name, unchecked, refused, isFailing, failure } = condition.of
      return {
        icon: 'guardrails',
        tone: 'bad',
        what: (
          <>
            The guardrail <Name text={name} /> {unchecked + refused === 0
              ? 'does not work'
              : `could not check ${pluralize(unchecked + refused, 'message')} within a day`}
          </>
        ),
        facts: [
          unchecked > 0 && `${unchecked.toLocaleString('en')} delivered unchecked`,
          refused > 0 && `${refused.toLocaleString('en')} not delivered`,
          isFailing ? failure : 'it works again',
        ],
        at,
      }
    }
    case 'task': {
      const { client, recipient, state, quietSince, why } = condition.of
      const reason = why && <Name text={oneLine(why)} />
      if (quietSince !== null) {
        const silent = durationInWords(now - quietSince)
        return {
          icon: 'tasks',
          tone: 'warning',
          what: <>{named([recipient])} has been silent for {silent} about a task from {named([client])}</>,
          facts: ['it is working'],
        }
      }
      const what = state === 'failed' || state === 'rejected'
        ? <>A task from {named([client])} for {named([recipient])} {state === 'failed' ? 'failed' : 'was rejected'}</>
        : (
          <>
            {named([recipient])} needs {state === 'auth-required' ? 'authentication' : 'input'} from {named([client])}
            {' '}
            for a task
          </>
        )
      return { icon: 'tasks', tone: taskFold(condition.of) === 'failed' ? 'bad' : 'warning', what, facts: [reason], at }
    }
    case 'blocked': {
      const { name, messages } = condition.of
      return {
        icon: 'guardrails',
        tone: 'warning',
        what: (
          <>
            The guardrail <Name text={name} /> blocked {pluralize(messages, 'message')} within a day
          </>
        ),
        facts: [],
        at,
      }
    }
    case 'released': {
      const { alias, messages, releases } = condition.of
      return {
        icon: 'again',
        tone: 'bad',
        what: <>{named([alias])} takes messages, and they come back unread</>,
        facts: [count(messages, 'message'), `up to ${releases.toLocaleString('en')} times`],
        at,
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
          : <>Messages to {named([alias])} have been failing for {durationInWords(now - failingSince!)}</>,
        facts: [
          `${unread.toLocaleString('en')} waiting`,
          !isPaused && error,
          !isPaused && dueAt !== null && dueAt > now && <>next attempt {time(dueAt)}</>,
        ],
        at: isPaused ? at : undefined,
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
        what: leftOut > 0 ? `${place}: ${pluralize(leftOut, noun)} left out after errors` : `${place}: stands still`,
        facts: ['the log of the server says why'],
        at,
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
        ],
        at,
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
          refused > 0 && `${pluralize(refused, 'message')} refused today`,
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
          `${unread.toLocaleString('en')} waiting`,
          sender && <>oldest from {named([sender])}</>,
          // Says whether the agent's program is disconnected, or connected but not reading.
          presence
            ? `connected now: ${presenceWords(presence, lastSeenAt, now)}`
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
        facts: [`${pluralize(messages, 'message')} in ${pluralize(conversations, 'conversation')}`],
      }
    }
    case 'refused': {
      const { calls, outcome } = condition.of
      const { name, credential } = actorOf(condition.of)
      return {
        icon: 'activity',
        tone: 'warning',
        what: <>{name}: {count(calls, 'call')} {calls === 1 ? 'was' : 'were'} refused</>,
        facts: [credential, `the last: ${reasonOf(outcome)}`],
        at,
      }
    }
    case 'turns': {
      const { agents, turns } = condition.of
      return {
        icon: 'conversations',
        tone: 'warning',
        what: <>{named(agents, ' and ')} keep answering each other</>,
        facts: [turnsInHour(turns)],
      }
    }
    case 'quota': {
      const { quota, used, max } = condition.of
      const unit = quota === 'messages' ? 'messages' : 'MB'
      return {
        icon: 'activity',
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
        what: `${pluralize(agents, 'agent')} signed up for you`,
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

/** Returns a condition's group. Conditions of the same group may share a row. */
export function foldOf({ kind, of }: Condition): string {
  return kind === 'task' ? `task ${taskFold(of)}` : kind
}

function taskFold({ state, quietSince }: SeenTask): 'failed' | 'input' | 'auth' | 'quiet' {
  if (quietSince !== null) return 'quiet'
  return state === 'failed' || state === 'rejected' ? 'failed' : state === 'auth-required' ? 'auth' : 'input'
}

/** Describes `n` conditions of one group in one line that names the first ones. */
export function sumInWords(
  visit: Pick<Visit, 'features'>,
  found: Condition[],
  n: number,
): Pick<Words, 'what' | 'facts'> {
  const names = [
    ...new Set(found.flatMap(({ of }) => {
      if ('alias' in of && of.alias !== null) return [`@${of.alias}`]
      if ('recipient' in of) return [`@${of.recipient}`]
      return 'guardrailId' in of ? [of.name] : []
    })),
  ]
  const more = Math.max(0, names.length - maxFolded) + n - found.length
  return {
    what: manyInWords(visit, found[0], n.toLocaleString('en')),
    facts: [
      names.length > 0 && (
        <>
          {names.slice(0, maxFolded).map((name, index) => (
            <>
              {index > 0 && ', '}
              <Name text={name} />
            </>
          ))}
          {more > 0 && ` and ${more.toLocaleString('en')} more`}
        </>
      ),
    ],
  }
}

function manyInWords(visit: Pick<Visit, 'features'>, condition: Condition, n: string): string {
  switch (condition.kind) {
    case 'paused':
      return `${n} conversations are paused`
    case 'guardrail':
      return `${n} guardrails could not check messages`
    case 'task':
      return `${n} tasks ${
        {
          failed: 'failed',
          input: 'need input',
          auth: 'need authentication',
          quiet: 'are silent',
        }[taskFold(condition.of)]
      }`
    case 'blocked':
      return `${n} guardrails blocked messages`
    case 'released':
      return `${n} agents take messages that come back unread`
    case 'remote':
      return `${n} remote agents fail or are paused`
    case 'webhook':
      return wordsOf(visit, condition.kind).many(n)
    case 'follower':
      return `${n} parts of the server stand still or left something out`
    case 'parked':
      return `Messages to ${n} agents are parked`
    case 'inbox':
      return `${n} inboxes are full or nearly full`
    case 'unread':
      return `${n} agents have not read for an hour or more`
    case 'person':
      return `${n} people have not answered for an hour or more`
    case 'refused':
      return `Calls from ${n} callers were refused`
    case 'turns':
      return `In ${n} conversations, agents keep answering each other`
    case 'quota':
      return `${n} quotas are nearly used up`
    case 'claim':
      return `${n} accounts can be claimed`
    case 'domain':
      return `The TXT records of ${n} domains are gone`
    case 'access':
      return `${n} agents on access lists exist now`
    case 'key':
      return `${n} keys are old or unused`
  }
}

/** Returns the texts that a feature defines for this kind of condition. */
function wordsOf({ features }: Pick<Visit, 'features'>, kind: FeatureCondition['kind']): FeatureWords {
  return features.flatMap(({ conditions }) => conditions?.[kind] ?? [])[0]
}

/** Returns the path of the page about a condition. Undefined if the visitor may not open it. */
export function hrefOf(visit: Visit, condition: Condition): string | undefined {
  const { path, may, membership } = visit
  if (condition.isHidden) return undefined
  switch (condition.kind) {
    case 'paused':
    case 'turns': {
      const { threadId, agents } = condition.of
      return threadId === null
        ? `${path('agents')}?search=${encodeURIComponent(agents[0])}`
        : path('conversations', String(threadId))
    }
    case 'guardrail':
    case 'blocked':
      return path('guardrails', condition.of.guardrailId)
    case 'task':
      return path('messages', String(condition.of.seq))
    case 'released':
    case 'remote':
    case 'inbox':
    case 'unread':
    case 'access':
      return path('agents', condition.of.alias)
    case 'webhook':
    case 'domain':
      return wordsOf(visit, condition.kind).href(visit)
    case 'person':
      return may('use') ? writePath(membership.id, `@${condition.of.alias}`) : path('agents', condition.of.alias)
    case 'parked':
      return condition.of.isDeleted ? `${path('activity')}?tool=admin_delete_agent` : path('agents', condition.of.alias)
    case 'refused': {
      const { credentialId, userId } = condition.of
      const who = credentialId ? `&who=key:${credentialId}` : userId ? `&who=user:${userId}` : ''
      return `${path('activity')}?outcome=refused${who}`
    }
    case 'follower':
      return undefined
    case 'quota':
      return settingsPath({ path }, 'account', 'usage')
    case 'claim':
      return `/claims/${condition.of.provisionalId}`
    case 'key':
      return condition.of.alias ? path('agents', condition.of.alias) : settingsPath({ path }, 'account', 'keys')
  }
}

/** The buttons that act on a condition without opening its page. */
export function actionOf(visit: Visit, condition: Condition, from: Origin): Child {
  const { path, may } = visit
  if (condition.kind === 'paused') return <Resume visit={visit} conversation={condition.of.key} from={from} />
  if (condition.kind !== 'access' || !may('manage')) return false
  const list = ['agents', condition.of.alias, 'access', condition.of.partner]
  return (
    <>
      <ButtonForm action={path(...list, 'confirm')} fields={{ from }} kind='plain' isSmall>Confirm</ButtonForm>
      <ButtonForm action={path(...list, 'remove')} fields={{ from }} kind='quiet' isSmall>Remove</ButtonForm>
    </>
  )
}

function turnsInHour(turns: number): string {
  return `${turns.toLocaleString('en')} turns in an hour with no message from a person`
}

/**
 * Describes how full an inbox is. An inbox below the nearly-full threshold is listed only because it refuses messages
 * from other accounts.
 */
export function fullness({ unread, max }: FullInbox): string {
  if (unread >= max) return 'full'
  const percent = Math.floor(unread / max * 100)
  return percent >= nearlyUsed * 100 ? `${percent} % full` : 'full for other accounts'
}

function named(aliases: readonly string[], before = ', '): Child {
  const more = aliases.length - maxNamed
  return (
    <>
      {aliases.slice(0, maxNamed).map((alias, index) => (
        <>
          {index > 0 && (index === aliases.length - 1 ? before : ', ')}
          <bdi>@{alias}</bdi>
        </>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  )
}

/** Formats a number that is counted only up to `maxCounted`. */
function count(n: number, noun: string): string {
  return n >= maxCounted ? `${maxCounted.toLocaleString('en')} or more ${noun}s` : pluralize(n, noun)
}
