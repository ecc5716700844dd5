/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** How programs become an agent: its key, the configurations of clients, and the programs that did. */
import { listGrantsOfAgent } from '../../grid/oauth/grants.ts'
import { Card, Facts, Time } from '../../html/components.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { AgentPrograms } from '../oauth/programs.tsx'
import type { PageResult, Visit } from '../visit.ts'
import { agentOf, agentPage, agentPath } from './agent.tsx'
import { ConnectCard } from './connect-card.tsx'

/** The page. It leads to the first page of a person, whom no program can be. Fails with `agent_not_found`. */
export async function showConnect(visit: Visit): Promise<PageResult> {
  const agent = await agentOf(visit)
  const { account, may } = visit
  if (agent.type === 'human') return { redirectTo: agentPath(visit, agent.alias, 'now') }
  // Programs cannot sign in as agents of other types.
  const maySignIn = agent.type === 'mcp' && may('use')
  const now = account.deps.now()
  const [keys, programs] = await Promise.all([
    account.read.keys.ofAgent(agent.id, now),
    maySignIn ? listGrantsOfAgent(account, agent.id) : [],
  ])
  return await agentPage(visit, agent, 'connect', {
    content: (
      <>
        <ConnectCard baseUrl={account.deps.config.baseUrl} alias={agent.alias} maySignIn={maySignIn} />
        <KeyCard visit={visit} alias={agent.alias} keys={keys} now={now} />
        {maySignIn && <AgentPrograms visit={visit} grants={programs} now={now} alias={agent.alias} />}
      </>
    ),
  })
}

type LiveKey = Awaited<ReturnType<Visit['account']['read']['keys']['ofAgent']>>[number]

function KeyCard({ visit, alias, keys, now }: { visit: Visit; alias: string; keys: LiveKey[]; now: number }) {
  const { csrf, may, path } = visit
  const action = path('agents', alias, 'key')
  const time = (at: number | null) => at === null ? <span class='soft'>never</span> : <Time at={at} now={now} />
  return (
    <Card title='Key' lead='The credential of its client. Only its last characters are shown.'>
      {keys.length === 0 && <Facts items={[['Key', 'no active key']]} />}
      {keys.map((key) => (
        <Facts
          items={[
            ['Key', <code>grid_agt_…{key.last4}</code>],
            ...(key.client === null ? [] : [['Fetched by', key.client] as [string, string]]),
            ...(key.person === null
              ? []
              : [[key.client === null ? 'Issued by' : 'Authorized by', key.person] as [string, string]]),
            ['Created', time(key.createdAt)],
            ['Last used', time(key.lastUsedAt)],
          ]}
        />
      ))}
      {may('manage') && (keys.length > 0
        ? (
          <ConfirmDelete
            action={action}
            csrf={csrf}
            label='Replace key'
            icon='again'
            question='Every key above stops working at once. The new one is shown only once; give it to the client.'
          />
        )
        : (
          <Form action={action} csrf={csrf}>
            <div class='row'>
              <SubmitButton kind='plain'>Create key</SubmitButton>
            </div>
          </Form>
        ))}
    </Card>
  )
}
