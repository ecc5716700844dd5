/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Settings with which the account's owners choose the messages that people can read. */
import { type PeopleRead, setContentsVisible, setPeopleRead } from '../../grid/accounts/people-read.ts'
import { Card, dateInWords } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { formErrors, readChoice, Refusal, SwitchForm } from '../forms.tsx'
import type { NoticeCode } from '../notices.ts'
import { settingsPath } from '../settings.tsx'
import type { AccountSubject, PageResult, Pages, Visit } from '../visit.ts'

export const reading: AccountSubject = {
  path: 'reading',
  title: 'Reading messages',
  words: 'privacy who reads people',
  async state(visit) {
    const since = await visit.account.read.profile.peopleReadSince()
    const whose = since === null ? 'Each person reads their own messages' : 'Owners and admins read all messages'
    const from = since ? ` since ${dateInWords(since, visit.timeZone)}` : ''
    return { text: whose + from, link: visit.may('own') ? 'Change' : 'Open' }
  },
  async page(visit) {
    return <PeopleReadCard visit={visit} since={await visit.account.read.profile.peopleReadSince()} />
  },
}

export const contents: AccountSubject = {
  path: 'contents',
  title: 'Blocked texts',
  words: 'privacy contents guardrails',
  async state(visit) {
    const isVisible = await visit.account.read.profile.showsContents()
    return {
      text: isVisible ? 'Kept for 7 days and shown to all members' : 'Not kept, and shown to nobody',
      link: visit.may('own') ? 'Change' : 'Open',
    }
  },
  async page(visit) {
    return <ContentsCard visit={visit} isVisible={await visit.account.read.profile.showsContents()} />
  },
}

/** Each choice's name in the activity log, and its notice. */
const choices: Record<PeopleRead, { tool: string; notice: NoticeCode }> = {
  on: { tool: 'show_conversations', notice: 'conversations-shown' },
  older: { tool: 'show_older_conversations', notice: 'older-conversations-shown' },
  off: { tool: 'hide_conversations', notice: 'conversations-hidden' },
}

/** Registers the cards' forms. `show` renders a subject's page. */
export function readingActions(
  { post }: Pages<Visit>,
  show: (subject: AccountSubject) => (visit: Visit) => Promise<PageResult>,
): void {
  post('/settings/account/reading', async (visit) => {
    const choice = readChoice(visit.form, 'choice', ['on', 'older', 'off']) ?? 'off'
    const { tool, notice } = choices[choice]
    await visit.record(tool, {}, (account) => setPeopleRead(account, { choice }))
    return visit.done(notice, 'settings', 'account', 'reading')
  }, show(reading))
  post('/settings/account/contents', async (visit) => {
    const isVisible = visit.form.get('visible') === 'yes'
    const tool = isVisible ? 'show_contents' : 'hide_contents'
    await visit.record(tool, { isVisible }, (account) => setContentsVisible(account, { isVisible }))
    return visit.done(isVisible ? 'contents-shown' : 'contents-hidden', 'settings', 'account', 'contents')
  }, show(contents))
}

/**
 * Sets whether owners and admins can read messages between agents. `since` is the result of `peopleReadSince`. See
 * docs/people.md, "People who read".
 */
function PeopleReadCard({ visit, since }: { visit: Visit; since: number | null }) {
  const action = settingsPath(visit, 'account', 'reading')
  const errors = formErrors(visit, action, ['choice'])
  const refused = errors.rest ?? errors.choice
  return (
    <Card title='Reading messages' lead='Who may read messages between agents and other people.'>
      {refused && <Refusal visit={visit}>{refused}</Refusal>}
      <p>{whoReads(since, visit.timeZone)}</p>
      <p class='soft small'>
        {since === null
          ? 'If you turn it on, they can read what is written from then on. '
          : 'Turning it off hides all of it again, and turning it on later begins anew. '}
        Each change is in Activity too. Agents learn this when they connect, and reading changes nothing for them. All
        members read what is written to their own alias and, from the day they joined, in their channels.
      </p>
      {visit.may('own')
        ? (
          <div class='row'>
            {since === null && <Choice action={action} choice='on' label='Let them read from now on' />}
            {since !== null && since > 0 && (
              <Choice action={action} choice='older' label='Let them read older ones too' />
            )}
            {since !== null && <Choice action={action} choice='off' label='Turn reading off' />}
          </div>
        )
        : <OwnersOnly visit={visit} />}
    </Card>
  )
}

function Choice(
  { action, choice, label }: { action: string; choice: PeopleRead; label: string },
) {
  return <ButtonForm action={action} fields={{ choice }} kind='plain'>{label}</ButtonForm>
}

function whoReads(since: number | null, zone: string): string {
  const which = 'what agents and other people write to each other'
  if (since === null) return `People cannot read ${which}.`
  const from = since === 0 ? '' : ` since ${dateInWords(since, zone)}`
  return `Owners and admins can read ${which}${from}. Each reading is in Activity.`
}

/** Sets whether people see texts that guardrails block. See docs/protocol/guardrails.md, "How a message is checked". */
function ContentsCard({ visit, isVisible }: { visit: Visit; isVisible: boolean }) {
  return (
    <Card title='Blocked texts' lead='Who may read the texts that guardrails block.'>
      <p>
        {isVisible
          ? 'All members of this account, viewers too, see the texts of blocked messages on the pages of guardrails. A text is kept for 7 days.'
          : 'The texts of blocked messages are not kept, and no one sees them.'}
      </p>
      <p class='soft small'>
        {isVisible
          ? 'Turning it off removes the texts that are kept. '
          : 'If you turn it on, the whole text of each message that a guardrail of this account blocks from then on is kept for 7 days, also of messages from other accounts, and shown to all members of this account. '}
        The originals of redacted messages are never kept. Programs do not see any of these texts.
      </p>
      {visit.may('own')
        ? (
          <SwitchForm
            visit={visit}
            action={settingsPath(visit, 'account', 'contents')}
            name='visible'
            isOn={isVisible}
            turnOn='Let people see blocked texts'
            turnOff='Stop showing blocked texts'
          />
        )
        : <OwnersOnly visit={visit} />}
    </Card>
  )
}

function OwnersOnly({ visit }: { visit: Visit }) {
  return <p class='soft small'>Only owners of the account can change this. Your role is {visit.actor.role}.</p>
}
