/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { setUp, setUpState } from '../../grid/people/people.ts'
import { TextInput } from '../../html/fields.tsx'
import { ButtonLink, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { CopyBlock } from '../../html/secrets.tsx'
import { homePath } from '../../html/paths.ts'
import { connectCommand } from '../../clients/snippets.ts'
import type { Config } from '../../config.ts'
import { PageForm } from '../forms.tsx'
import type { PageDeps, Pages, PublicVisit } from '../visit.ts'
import { EmailField, NameField, NewPasswordField } from './person-fields.tsx'

/** The form that creates the first user and account. The grid prints its link on the first start. */
export function setUpPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  const show = async (visit: PublicVisit) => {
    const state = await setUpState(store, visit.param('token'))
    return state === 'open' ? await setUpPage(visit, store.deps.config) : await endedPage(state)
  }
  get('/set-up/:token', show)
  post('/set-up/:token', async ({ request, form, address, param }) => {
    const field = (name: string) => form.get(name) ?? ''
    const input = {
      accountName: field('accountName'),
      name: field('name'),
      email: field('email'),
      password: field('password'),
    }
    const { userId, id } = await setUp(store, param('token'), input)
    return { redirectTo: homePath(id), cookie: await sessions.begin(request, userId, address) }
  }, show)
}

/** Says why a link cannot be used, and what to do instead. */
function endedPage(state: 'done' | 'ended') {
  if (state === 'ended') {
    return barePage(
      { title: 'This link has ended', status: 400 },
      <>
        <h1>This link has ended</h1>
        <p>
          A set-up link works for 24 hours, and a later start of the grid replaces it. Open the link that the last start
          printed, or start the grid again to get a new one.
        </p>
      </>,
    )
  }
  return barePage(
    { title: 'This grid is set up', status: 400 },
    <>
      <h1>This grid is set up</h1>
      <p>
        It has a user already: this link was used, or <code>create-account</code>{' '}
        made an account with its owner. Sign in as that user. Others join by an invitation.
      </p>
      <div class='row'>
        <ButtonLink kind='main-action' href='/sign-in'>Sign in</ButtonLink>
      </div>
      <p class='small soft'>
        The operator of the grid can let a user in who has no password, with the command{' '}
        <code>create-link --email EMAIL</code>.
      </p>
    </>,
  )
}

function setUpPage(visit: PublicVisit, config: Config) {
  const action = `/set-up/${encodeURIComponent(visit.param('token'))}`
  return barePage(
    { title: 'Set up the grid', csrf: visit.csrf },
    <>
      <h1>Set up the grid</h1>
      <p>This creates your user and the first account, which you will own.</p>
      <PageForm visit={visit} acts action={action} fields={['accountName', 'name', 'email', 'password']}>
        <TextInput
          name='accountName'
          label='Name of the account'
          hint='A company, a team or a project. It can be changed later.'
          maxLength={80}
          isRequired
          isFocused
        />
        <NameField />
        <EmailField />
        <NewPasswordField />
        <SubmitButton isWhole>Create account</SubmitButton>
      </PageForm>
      <CopyBlock id='connect' label='Then, in a terminal' text={connectCommand(config)} wraps />
    </>,
  )
}
