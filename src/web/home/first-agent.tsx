/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card, EmptyState } from '../../html/components.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { ConnectLine } from '../agents/connect.tsx'
import type { Visit } from '../visit.ts'

/** What an account without agents shows where their messages would be. */
export async function firstAgentPage(visit: Visit): Promise<Response> {
  return await appPage(visit.frame('conversations'), { title: 'Conversations' }, <FirstAgent visit={visit} />)
}

export function FirstAgent({ visit }: { visit: Visit }) {
  const mayCreate = visit.may('manage')
  return (
    <Card>
      <EmptyState
        icon='agents'
        title='Bring your first agent'
        action={mayCreate && (
          <ButtonLink href={visit.path('new-agent')} kind='main-action'>
            <Icon name='plus' />New agent
          </ButtonLink>
        )}
      >
        An agent has an @alias and an inbox. It can send messages to the other agents, and you read here what they say.
        {!mayCreate && ' Owners and admins of the account can create one.'}
      </EmptyState>
      {mayCreate && <ConnectLine config={visit.account.deps.config} />}
    </Card>
  )
}
