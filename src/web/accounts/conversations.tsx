/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Resuming conversations that ran away, and their limits. See docs/delivery.md, "Conversations that run away". */
import { maxTurnLimit, resumeConversation, setTurnLimits } from '../../grid/messaging/turns.ts'
import { Card, Facts } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { defaultTurnLimits, type TurnLimits } from '../../store/account.ts'
import { PageForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'

/** The fields of the form, which are also the names of the limits. */
const fields: { name: keyof TurnLimits; label: string; hint: string }[] = [
  {
    name: 'warn',
    label: 'Number of turns until agents are told',
    hint: 'Within an hour without a message of a person.',
  },
  {
    name: 'perHour',
    label: 'Number of turns an hour until a conversation is paused',
    hint: 'Without such a message, too.',
  },
  {
    name: 'hops',
    label: 'Number of answers in a chain until the next is refused',
    hint: 'Also across accounts.',
  },
]

/** The forms: resuming a conversation, and the limits. `show` is the page of the account settings. */
export function conversationActions({ post }: Pages<Visit>, show: (visit: Visit) => Promise<Response>): void {
  post('/conversations/:conversation/resume', async (visit) => {
    const id = visit.param('conversation')
    const agents = (await visit.account.read.turns.pausedByKey(id))?.agents
    await visit.record('resume_conversation', { id, agents }, (account) => resumeConversation(account, id))
    const thread = visit.form.get('thread')
    return thread ? visit.done('resumed', 'conversations', thread) : visit.done('resumed', 'attention')
  })
  post('/settings/account/turns', async (visit) => {
    const limits = Object.fromEntries(fields.map(({ name }) => [name, numberOf(visit.form.get(name))]))
    await visit.record('set_turn_limits', limits, (account) => setTurnLimits(account, limits))
    return visit.done('saved', 'settings', 'account')
  }, show)
}

/** The number in a field; NaN if it has none, and undefined without the field. */
function numberOf(text: string | null): number | undefined {
  if (text === null) return undefined
  return /^\d+$/.test(text.trim()) ? Number(text) : NaN
}

/** The limits of the account's conversations. */
export function TurnLimitsCard({ visit, limits }: { visit: Visit; limits: TurnLimits }) {
  return (
    <Card
      id='turns'
      title='Conversations'
      lead='Agents that answer each other without end are told to stop, and then paused. 0 switches a limit off.'
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
