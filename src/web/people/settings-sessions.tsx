/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { ActiveSession } from '../../auth/session.ts'
import { listOwnGrants, revokeOwnGrant } from '../../grid/oauth/grants.ts'
import { Badge, Card, Time } from '../../html/components.tsx'
import { Form, SubmitButton, SubmitRow } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { withNotice } from '../notices.ts'
import { OwnPrograms } from '../oauth/programs.tsx'
import type { PageDeps } from '../page-deps.ts'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'
import { describeBrowser } from './browser-name.ts'

/** The sessions of the user and the programs that the user has authorized, across all accounts. See docs/security.md, "Sessions". */
export function sessionPages({ get, post }: Pages<Visit>, { store, sessions }: PageDeps): void {
  get('/settings/sessions', async (visit) => {
    const active = await sessions.list(visit.visitor)
    const grants = await listOwnGrants(store, visit.visitor.user.id)
    const now = store.deps.now()
    return await settingsPage(
      visit,
      'sessions',
      <>
        <SessionsCard visit={visit} sessions={active} now={now} />
        <OwnPrograms visit={visit} grants={grants} now={now} />
      </>,
    )
  })
  post('/settings/sessions/programs/:grant/end', async (visit) => {
    await revokeOwnGrant(store, visit.visitor, visit.param('grant'), visit.requestId)
    return { redirectTo: withNotice(settingsPath(visit, 'sessions'), 'grant-ended') }
  })
  post('/settings/sessions/end-others', async (visit) => {
    await sessions.endOthers(visit.visitor)
    return { redirectTo: withNotice(settingsPath(visit, 'sessions'), 'sessions-ended') }
  })
  post('/settings/sessions/:session/end', async (visit) => {
    const id = visit.param('session')
    if (id === visit.visitor.sessionId) return { redirectTo: '/', cookie: await sessions.end(visit.request) }
    await sessions.endOne(visit.visitor, id)
    return { redirectTo: withNotice(settingsPath(visit, 'sessions'), 'session-ended') }
  })
}

function SessionsCard({ visit, sessions, now }: { visit: Visit; sessions: ActiveSession[]; now: number }) {
  return (
    <Card
      title='Browsers'
      lead='Where you are signed in. If you do not recognize a session, end it and change your password.'
    >
      <Table
        id='sessions'
        caption='Active sessions'
        rows={sessions}
        columns={[
          {
            title: 'Browser',
            cell: ({ userAgent, isCurrent }) => (
              <span>
                {describeBrowser(userAgent)} {isCurrent && <Badge kind='good'>this browser</Badge>}
              </span>
            ),
          },
          {
            title: 'From',
            cell: ({ address }) => address,
          },
          { title: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
          { title: 'Last seen', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} now={now} /> },
          {
            title: 'End',
            isUntitled: true,
            align: 'end',
            cell: ({ id, isCurrent }) => (
              <Form action={settingsPath(visit, 'sessions', id, 'end')} csrf={visit.csrf}>
                <SubmitButton kind='quiet' isSmall>{isCurrent ? 'Sign out' : 'End'}</SubmitButton>
              </Form>
            ),
          },
        ]}
      />
      {sessions.length > 1 && (
        <Form action={settingsPath(visit, 'sessions', 'end-others')} csrf={visit.csrf}>
          <SubmitRow kind='plain danger'>End all other sessions</SubmitRow>
        </Form>
      )}
    </Card>
  )
}
