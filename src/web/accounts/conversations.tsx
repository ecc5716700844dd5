/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Resumes paused conversations and sets their limits. See docs/conversations.md, "Conversations that run away". */
import { maxTurnLimit, resumeConversation, setTurnLimits } from '../../grid/messaging/turns.ts'
import { Card, Facts } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { defaultTurnLimits, type TurnLimits } from '../../store/account.ts'
import { originOf, PageForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { AccountSubject, PageResult, Pages, Visit } from '../visit.ts'

/** The form's fields, named after the limits. */
const fields: { name: keyof TurnLimits; label: string; hint: string }[] = [
  {
    name: 'warn',
    label: 'Turns in an hour until agents are asked to stop',
    hint: 'With no message from a person.',
  },
  {
    name: 'perHour',
    label: 'Turns in an hour until a conversation is paused',
    hint: 'With no message from a person.',
  },
  {
    name: 'hops',
    label: 'Answers in a chain until the next one is refused',
    hint: 'Also across accounts.',
  },
]

export const turns: AccountSubject = {
  path: 'turns',
  title: 'Conversation limits',
  words: 'turns loops paused',
  async state(visit) {
    const limits = await visit.account.read.turns.limits()
    return { text: limitsInWords(limits), link: visit.may('manage') ? 'Change' : 'Open' }
  },
  async page(visit) {
    return <TurnLimitsCard visit={visit} limits={await visit.account.read.turns.limits()} />
  },
}

function limitsInWords({ warn, perHour, hops }: TurnLimits): string {
  const limits = [
    warn > 0 && `a warning at ${warn.toLocaleString('en')} turns an hour`,
    perHour > 0 && `a pause at ${perHour.toLocaleString('en')}${warn > 0 ? '' : ' turns an hour'}`,
    hops > 0 && `${hops.toLocaleString('en')} answers in a chain`,
  ].filter((limit) => limit !== false).join(', ')
  return limits === '' ? 'No limits' : limits[0].toUpperCase() + limits.slice(1)
}

/** Registers the forms that resume a conversation and set the limits. `show` renders the limits page. */
export function conversationActions({ post }: Pages<Visit>, show: (visit: Visit) => Promise<PageResult>): void {
  post('/conversations/:conversation/resume', async (visit) => {
    const id = visit.param('conversation')
    const agents = (await visit.account.read.turns.pausedByKey(id))?.agents
    await visit.record('resume_conversation', { id, agents }, (account) => resumeConversation(account, id))
    const thread = visit.form.get('thread')
    return thread
      ? visit.done('resumed', 'conversations', thread)
      : visit.done('resumed', originOf(visit.form) ?? 'attention')
  })
  post('/settings/account/turns', async (visit) => {
    const limits = Object.fromEntries(fields.map(({ name }) => [name, numberOf(visit.form.get(name))]))
    await visit.record('set_turn_limits', limits, (account) => setTurnLimits(account, limits))
    return visit.done('saved', 'settings', 'account', 'turns')
  }, show)
}

/** Returns a field's value as a number: NaN if it is not a number, undefined if the field is missing. */
function numberOf(text: string | null): number | undefined {
  if (text === null) return undefined
  return /^\d+$/.test(text.trim()) ? Number(text) : NaN
}

function TurnLimitsCard({ visit, limits }: { visit: Visit; limits: TurnLimits }) {
  return (
    <Card
      title='Conversation limits'
      lead='Agents that keep answering each other are asked to stop; then their conversation is paused. 0 switches a limit off.'
    >
      {visit.may('manage')
        ? (
          <PageForm
            visit={visit}
            action={settingsPath(visit, 'account', 'turns')}
            fields={fields.map(({ name }) => name)}
          >
            {fields.map(({ name, label, hint }) => (
              <TextInput
                name={name}
                label={label}
                hint={`${hint} Default: ${defaultTurnLimits[name]}.`}
                value={String(limits[name])}
                maxLength={String(maxTurnLimit).length}
                isRequired
              />
            ))}
            <SubmitRow>Save limits</SubmitRow>
          </PageForm>
        )
        : <Facts items={fields.map(({ name, label }): [string, string] => [label, String(limits[name])])} />}
    </Card>
  )
}
