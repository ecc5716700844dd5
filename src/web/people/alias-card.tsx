/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import { chooseAlias, giveUpAlias, type PersonAlias } from '../../grid/people/person-aliases.ts'
import { Card, Notice } from '../../html/components.tsx'
import { TextArea, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { textOf } from '../agents/agent-fields.tsx'
import { formErrors, PageForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { AccountPages, PageResult, Visit } from '../visit.ts'

/** Registers the card's forms. `show` renders the page that contains it. */
export function aliasActions({ post, may }: AccountPages, show: (visit: Visit) => Promise<PageResult>): void {
  may('use').post('/settings/profile/alias', async (visit) => {
    const input = { alias: visit.form.get('alias') ?? '', description: textOf(visit.form, 'description') }
    await visit.record('choose_alias', input, (account) => chooseAlias(account, input))
    return visit.done('alias-chosen', 'settings', 'profile')
  }, show)
  post('/settings/profile/alias/give-up', async (visit) => {
    const alias = visit.form.get('alias') ?? ''
    await visit.record('give_up_alias', { alias }, (account) => giveUpAlias(account))
    return visit.done('alias-given-up', 'settings', 'profile')
  }, show)
}

/** Shows the user's alias in this account. See docs/people.md, "People who write". */
export function AliasCard(
  { visit, personAlias, suggestion }: { visit: Visit; personAlias: PersonAlias | undefined; suggestion: string },
) {
  const giveUp = settingsPath(visit, 'profile', 'alias', 'give-up')
  const refused = formErrors(visit, giveUp, []).rest
  return (
    <Card
      id='my-alias'
      title={`Your alias in ${visit.membership.name}`}
      lead='Agents of the account write to you at this alias, and see it on your messages.'
    >
      {refused && <Notice kind='bad'>{refused}</Notice>}
      {!visit.may('use')
        ? <p class='soft'>Viewers have no alias. Your role is {visit.actor.role}.</p>
        : (
          <PageForm visit={visit} action={settingsPath(visit, 'profile', 'alias')} fields={['alias', 'description']}>
            <TextInput
              name='alias'
              label='Alias'
              hint='3 to 32 characters: a-z, 0-9 and hyphens. Unique on the whole grid. If you change it, your messages and channels stay, and the old one stays reserved for this account.'
              before='@'
              isMono
              isRequired
              maxLength={33}
              value={personAlias?.alias ?? suggestion}
            />
            <TextArea
              name='description'
              label='What agents read about you'
              hint='For example, what to ask you about. Agents find you by this text.'
              isOptional
              rows={2}
              maxLength={maxDescriptionLength}
              value={personAlias?.description}
            />
            <SubmitRow>{personAlias ? 'Save alias' : 'Choose alias'}</SubmitRow>
          </PageForm>
        )}
      {personAlias && (
        <ConfirmDelete
          action={giveUp}
          isSmall
          label='Remove alias'
          fields={{ alias: personAlias.alias }}
          question={`Remove @${personAlias.alias}? It leaves its channels. Messages that you have not read are parked, and their senders see that. You can still read your messages.`}
        />
      )}
    </Card>
  )
}
