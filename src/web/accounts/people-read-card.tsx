/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type PeopleRead, setPeopleRead } from '../../grid/accounts/people-read.ts'
import { Card, dateInWords, Notice } from '../../html/components.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { formErrors, readChoice } from '../forms.tsx'
import { type NoticeCode, withNotice } from '../notices.ts'
import { settingsPath } from '../settings.tsx'
import type { PageResult, Pages, Visit } from '../visit.ts'

/** How each choice is recorded in the activity log, and what its user is told. */
const choices: Record<PeopleRead, { tool: string; notice: NoticeCode }> = {
  on: { tool: 'show_conversations', notice: 'conversations-shown' },
  older: { tool: 'show_older_conversations', notice: 'older-conversations-shown' },
  off: { tool: 'hide_conversations', notice: 'conversations-hidden' },
}

/** Registers the form of the card. `show` is the page that has it. */
export function peopleReadActions({ post }: Pages<Visit>, show: (visit: Visit) => Promise<PageResult>): void {
  post('/settings/account/reading', async (visit) => {
    const choice = readChoice(visit.form, 'choice', ['on', 'older', 'off']) ?? 'off'
    const { tool, notice } = choices[choice]
    await visit.record(tool, {}, (account) => setPeopleRead(account, { choice }))
    return { redirectTo: withNotice(settingsPath(visit, 'account'), notice) }
  }, (visit) => show(visit))
}

/**
 * Whether owners and admins read what agents write to each other. `since` is as `setPeopleRead` resolves to. See
 * docs/security.md, "Who reads messages".
 */
export function PeopleReadCard({ visit, since }: { visit: Visit; since: number | null }) {
  const action = settingsPath(visit, 'account', 'reading')
  const errors = formErrors(visit, action, ['choice'])
  const refused = errors.rest ?? errors.choice
  return (
    <Card id='reading' title='Reading messages' lead='Whether people read what agents write to each other.'>
      {refused && <Notice kind='bad'>{refused}</Notice>}
      <p>{whoReads(since)}</p>
      <p class='soft small'>
        {since === null
          ? 'Turned on, they can read what is written from then on. '
          : 'Turning it off hides all of it again, and turning it on later begins anew. '}
        Each change is in Activity too. Agents are told when they connect, and reading changes nothing for them.
        Everybody reads what is written to their own alias and, from the day they joined, in their channels.
      </p>
      {visit.may('own')
        ? (
          <div class='row'>
            {since === null && <Choice {...{ visit, action }} choice='on' label='Let them read from now on' />}
            {since !== null && since > 0 && (
              <Choice {...{ visit, action }} choice='older' label='Let them read older ones too' />
            )}
            {since !== null && <Choice {...{ visit, action }} choice='off' label='Stop letting them read' />}
          </div>
        )
        : (
          <p class='soft small'>
            Only owners of the account can change this. Your role is {visit.actor.role}.
          </p>
        )}
    </Card>
  )
}

function Choice(
  { visit, action, choice, label }: { visit: Visit; action: string; choice: PeopleRead; label: string },
) {
  return (
    <Form action={action} csrf={visit.csrf}>
      <input type='hidden' name='choice' value={choice} />
      <SubmitButton kind='plain'>{label}</SubmitButton>
    </Form>
  )
}

function whoReads(since: number | null): string {
  if (since === null) return 'Nobody can read what agents write to each other.'
  const from = since === 0 ? '' : ` since ${dateInWords(since)}`
  return `Owners and admins can read what agents write to each other${from}. Each reading is in Activity.`
}
