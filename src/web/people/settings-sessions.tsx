/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { OpenSession } from '../../auth/session.ts'
import { listOwnGrants, revokeOwnGrant } from '../../grid/oauth/grants.ts'
import { Badge, Card, Time } from '../../html/bits.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { browserInWords } from './browser-name.ts'
import { saying } from '../notices.ts'
import { OwnPrograms } from '../oauth/programs.tsx'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'
import type { Web } from '../web.ts'

/** Where the person is signed in, and what they let programs do; about them, in all their accounts. Security: O12. */
export function sessionPages({ get, post }: Pages<Visit>, { store, sessions }: Web): void {
  get('/settings/sessions', async (visit) => {
    const open = await sessions.list(visit.visitor)
    const grants = await listOwnGrants(store, visit.visitor.user.id)
    const now = store.deps.now()
    return await settingsPage(
      visit,
      'sessions',
      <>
        <Sessions visit={visit} open={open} now={now} />
        <OwnPrograms visit={visit} grants={grants} now={now} />
      </>,
    )
  })
  post('/settings/sessions/programs/:grant/end', async (visit) => {
    await revokeOwnGrant(store, visit.visitor, visit.param('grant'), visit.requestId)
    return { goTo: saying(settingsPath(visit, 'sessions'), 'grant-ended') }
  })
  post('/settings/sessions/end-others', async (visit) => {
    await sessions.endOthers(visit.visitor)
    return { goTo: saying(settingsPath(visit, 'sessions'), 'sessions-ended') }
  })
  post('/settings/sessions/:session/end', async (visit) => {
    const id = visit.param('session')
    if (id === visit.visitor.sessionId) return { goTo: '/', cookie: await sessions.end(visit.request) }
    await sessions.endOne(visit.visitor, id)
    return { goTo: saying(settingsPath(visit, 'sessions'), 'session-ended') }
  })
}

function Sessions({ visit, open, now }: { visit: Visit; open: OpenSession[]; now: number }) {
  return (
    <Card title='Browsers' lead='Where you are signed in. End what you do not know, and change your password then.'>
      <Table
        id='sessions'
        caption='Browsers that are signed in'
        rows={open}
        columns={[
          {
            title: 'Browser',
            cell: ({ userAgent, isThis }) => (
              <span>
                {browserInWords(userAgent)} {isThis && <Badge kind='good'>this one</Badge>}
              </span>
            ),
          },
          {
            title: 'From',
            cell: ({ address }) =>
              address,
          },
          { title: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
          { title: 'Last seen', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} now={now} /> },
          {
            title: 'End',
            isUntitled: true,
            align: 'end',
            cell: ({ id, isThis }) => (
              <Form action={settingsPath(visit, 'sessions', id, 'end')} csrf={visit.csrf}>
                <SubmitButton kind='quiet' isSmall>{isThis ? 'Sign out' : 'End'}</SubmitButton>
              </Form>
            ),
          },
        ]}
      />
      {open.length > 1 && (
        <Form action={settingsPath(visit, 'sessions', 'end-others')} csrf={visit.csrf}>
          <div class='row'>
            <SubmitButton kind='plain danger'>End all other sessions</SubmitButton>
          </div>
        </Form>
      )}
    </Card>
  )
}
