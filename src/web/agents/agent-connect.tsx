/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Ways for programs to act as an agent: keys, client configurations, and authorized programs. */
import { isProgram } from '../../grid/agents/find-agent.ts'
import { Name } from '../../html/bidi.tsx'
import { Card, Facts, Time } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { Form, SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { PageForm } from '../forms.tsx'
import { AgentPrograms } from '../oauth/programs.tsx'
import type { PageResult, Visit } from '../visit.ts'
import { accessOf, agentOf, agentPage, agentPath } from './agent.tsx'
import { ConnectCard } from './connect.tsx'

/** Shows how to connect as the agent. Redirects if the agent is a person. Fails with `agent_not_found`. */
export async function showConnect(visit: Visit): Promise<PageResult> {
  const agent = await agentOf(visit)
  if (!isProgram(agent)) return { redirectTo: agentPath(visit, agent.alias, 'now') }
  const { config, now: clock } = visit.account.deps
  const now = clock()
  const { keys, programs, maySignIn } = await accessOf(visit, agent)
  return await agentPage(visit, agent, 'connect', {
    content: (
      <>
        <ConnectCard config={config} alias={agent.alias} maySignIn={maySignIn} />
        <KeyCard visit={visit} alias={agent.alias} keys={keys} now={now} />
        {maySignIn && <AgentPrograms visit={visit} grants={programs} now={now} alias={agent.alias} />}
      </>
    ),
  })
}

type LiveKey = Awaited<ReturnType<Visit['account']['read']['keys']['ofAgent']>>[number]

function KeyCard({ visit, alias, keys, now }: { visit: Visit; alias: string; keys: LiveKey[]; now: number }) {
  const { may, path } = visit
  const action = path('agents', alias, 'key')
  return (
    <Card
      title='Keys'
      lead='The credentials of its clients, one for each client and machine. Only their last characters are shown.'
    >
      {keys.length === 0 && <Facts items={[['Key', 'no active key']]} />}
      {keys.map((key) => (
        <>
          <Facts
            items={[
              ['Name', key.name === '' ? <span class='soft'>none</span> : <Name text={key.name} />],
              ['Key', <code>grid_agt_…{key.last4}</code>],
              ['Fetched by', key.client],
              [key.client === null ? 'Issued by' : 'Authorized by', key.person],
              ['Created', <Time at={key.createdAt} now={now} />],
              ['Last used', <Time at={key.lastUsedAt} now={now} />],
            ]}
          />
          {may('manage') && keys.length > 1 && (
            <ConfirmDelete
              action={path('agents', alias, 'keys', key.id, 'revoke')}
              label='Revoke'
              question='This key stops working at once. The others stay.'
              isSmall
            />
          )}
        </>
      ))}
      {may('manage') && keys.length > 0 && (
        <PageForm visit={visit} acts action={path('agents', alias, 'keys')} fields={['name']}>
          <TextInput
            name='name'
            label='Another key'
            hint='What it is for, such as “claude on laptop”. The other keys stay.'
            maxLength={80}
            isRequired
          />
          <SubmitRow kind='plain'>Add key</SubmitRow>
        </PageForm>
      )}
      {may('manage') && (keys.length > 0
        ? (
          <ConfirmDelete
            action={action}
            label={keys.length > 1 ? 'Replace all keys' : 'Replace key'}
            icon='again'
            question='Every key above stops working at once. The new one is shown only once; give it to the client.'
          />
        )
        : (
          <Form action={action}>
            <SubmitRow kind='plain'>Create key</SubmitRow>
          </Form>
        ))}
    </Card>
  )
}
