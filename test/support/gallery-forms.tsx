/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The gallery pages with forms. */
import { Card, Facts, Notice, Time } from '../../src/html/components.tsx'
import {
  ButtonLink,
  Checkbox,
  ChoiceList,
  Form,
  PasswordInput,
  Select,
  SubmitButton,
  TextArea,
  TextInput,
} from '../../src/html/form.tsx'
import { appPage, barePage } from '../../src/html/layout.tsx'
import { ConfirmDelete, Dialog } from '../../src/html/secrets.tsx'
import { csrf, frame, minute, now } from './gallery-frame.ts'

/** Pages by path. */
export const formPages: Record<string, () => Promise<Response>> = {
  '/agents/new': () =>
    appPage(
      {
        ...frame,
        current: 'agents',
        notice: { kind: 'bad', text: 'The agent was not created. Check the marked field.' },
      },
      { title: 'New agent', lead: 'Its key is shown only once.', back: { title: 'Agents', href: '/agents' } },
      <div class='grid halves'>
        <Card title='Details'>
          <Form action='/agents' csrf={csrf}>
            <TextInput
              name='alias'
              label='Alias'
              before='@'
              value='bob'
              hint='3 to 32 characters: a-z, 0-9 and hyphens'
              error='@bob is taken. Choose another alias.'
              pattern='[a-z0-9\-]{3,32}'
              isRequired
              isMono
            />
            <TextArea
              name='description'
              label='Description'
              isOptional
              hint='What it does. Other agents read this.'
              placeholder='Answers questions about orders'
              rows={3}
            />
            <Select
              name='type'
              label='Type'
              value='grid'
              options={[{ value: 'grid', title: 'On this grid' }, { value: 'a2a', title: 'Remote, by A2A' }]}
            />
            <ChoiceList
              name='visibility'
              label='Visibility'
              isCards
              values={['account']}
              options={[{
                value: 'account',
                title: 'This account',
                hint: 'Only agents of Acme Robotics can send to it.',
              }, {
                value: 'public',
                title: 'Public',
                hint: 'Agents of all accounts can find it and send to it.',
              }]}
            />
            <ChoiceList
              name='skills'
              label='Skills'
              isOptional
              isMultiple
              values={['review']}
              options={[{ value: 'arithmetic', title: 'arithmetic' }, { value: 'review', title: 'review' }]}
            />
            <Checkbox name='again' label='Create another agent' hint='Returns to this form.' />
            <div class='row'>
              <SubmitButton>Create agent</SubmitButton>
              <ButtonLink href='/agents' kind='quiet'>Cancel</ButtonLink>
            </div>
          </Form>
        </Card>
        <div class='stack'>
          <Card
            title='Key'
            lead='The credential of its client.'
            actions={<ButtonLink href='#replace' opens='replace'>Replace key</ButtonLink>}
          >
            <Facts
              items={[['Key', <code>ag_…f3c9</code>], ['Created', <Time at={now - 9 * 24 * 60 * minute} now={now} />]]}
            />
            <Dialog id='replace' title='Replace the key'>
              <p>The old key stops working at once.</p>
              <Form action='/agents/bob/key' csrf={csrf}>
                <TextInput name='name' id='key-name' label='Name of the key' />
                <div class='row'>
                  <SubmitButton>Replace key</SubmitButton>
                </div>
              </Form>
            </Dialog>
          </Card>
          <Card title='Permissions'>
            <Form action='/agents/bob/role' csrf={csrf} isLine>
              <Select
                name='role'
                label='Role'
                value='member'
                options={['member', 'viewer'].map((role) => ({ value: role, title: role }))}
              />
              <SubmitButton kind='plain' whenChanged>Save role</SubmitButton>
            </Form>
          </Card>
          <Notice kind='warning' title='On trial'>3 of 10 messages left within 24 hours.</Notice>
          <Notice>Messages stay in the inbox until the agent reads them.</Notice>
          <Card
            title='Delete this agent'
            isDanger
            lead='Its inbox and its keys are deleted too. Recipients keep its messages.'
          >
            <ConfirmDelete
              action='/agents/bob/delete'
              csrf={csrf}
              typed='bob'
              label='Delete agent'
              question='This cannot be undone.'
            />
          </Card>
        </div>
      </div>,
    ),

  '/sign-in': () =>
    barePage(
      { title: 'Sign in' },
      <>
        <h1>Sign in</h1>
        <p>To see and manage the agents of your account.</p>
        <Notice kind='bad'>Email or password is wrong.</Notice>
        <Form action='/sign-in' csrf={csrf}>
          <TextInput
            name='email'
            type='email'
            label='Email'
            value='ann@acme.example'
            autocomplete='username'
            isRequired
          />
          <PasswordInput
            name='password'
            label='Password'
            autocomplete='current-password'
            isRequired
            error='Passwords have at least 10 characters.'
          />
          <SubmitButton isWhole>Sign in</SubmitButton>
        </Form>
      </>,
    ),

  '/consent': () =>
    barePage(
      { title: 'Allow access', formTarget: 'http://localhost:33418/callback' },
      <>
        <h1>Allow localhost access?</h1>
        <p>An application named “Claude Code” requests access to your account.</p>
        <Form action='/consent' csrf={csrf}>
          <ChoiceList
            name='entry'
            label='Act as'
            isCards
            values={['admin']}
            options={[{
              value: 'admin',
              title: '@admin (Acme Robotics)',
              hint: 'Manages agents, channels, skills and guardrails.',
            }, { value: 'alice', title: '@alice', hint: 'Sends and reads her messages.' }]}
          />
          <div class='row'>
            <SubmitButton name='decision' value='allow' waits>Allow</SubmitButton>
            <SubmitButton name='decision' value='deny' kind='plain'>Deny</SubmitButton>
          </div>
        </Form>
      </>,
    ),
}
