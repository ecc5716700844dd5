/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { ActiveSession } from '../../auth/session.ts'
import { listOwnGrants, revokeOwnGrant } from '../../grid/oauth/grants.ts'
import { Badge, Card, Time } from '../../html/components.tsx'
import { ButtonForm, Form, SubmitRow } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { OwnPrograms } from '../oauth/programs.tsx'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { PageDeps, Pages, Visit } from '../visit.ts'

/** The user's sessions and authorized programs, across all accounts. See docs/people.md, "Signing in". */
export function sessionPages({ get, post }: Pages<Visit>, { store, sessions }: PageDeps): void {
  get('/settings/sessions', async (visit) => {
    const active = await sessions.list(visit.visitor)
    const grants = await listOwnGrants(store, visit.visitor.user.id)
    return await settingsPage(
      visit,
      'sessions',
      <>
        <SessionsCard visit={visit} sessions={active} />
        <OwnPrograms visit={visit} grants={grants} now={store.deps.now()} />
      </>,
    )
  })
  post('/settings/sessions/programs/:grant/end', async (visit) => {
    await revokeOwnGrant(store, visit.visitor, visit.param('grant'), visit.requestId)
    return visit.done('grant-ended', 'settings', 'sessions')
  })
  post('/settings/sessions/end-others', async (visit) => {
    await sessions.endOthers(visit.visitor)
    return visit.done('sessions-ended', 'settings', 'sessions')
  })
  post('/settings/sessions/:session/end', async (visit) => {
    const id = visit.param('session')
    if (id === visit.visitor.sessionId) return { redirectTo: '/', cookie: await sessions.end(visit.request) }
    await sessions.endOne(visit.visitor, id)
    return visit.done('session-ended', 'settings', 'sessions')
  })
}

function SessionsCard({ visit, sessions }: { visit: Visit; sessions: ActiveSession[] }) {
  const now = visit.account.deps.now()
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
            cell: ({ id, isCurrent }) => (
              <ButtonForm action={settingsPath(visit, 'sessions', id, 'end')} kind='quiet' isSmall>
                {isCurrent ? 'Sign out' : 'End'}
              </ButtonForm>
            ),
          },
        ]}
      />
      {sessions.length > 1 && (
        <Form action={settingsPath(visit, 'sessions', 'end-others')}>
          <SubmitRow kind='plain danger'>End all other sessions</SubmitRow>
        </Form>
      )}
    </Card>
  )
}

// The order matters, because most user agents also contain the names of older browsers.
const browsers: [RegExp, string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const systems: [RegExp, string][] = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Returns a readable name for a `User-Agent` header: `Firefox on Linux`. */
export function describeBrowser(userAgent: string): string {
  const nameIn = (known: [RegExp, string][]) => known.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  if (!browser) return userAgent.slice(0, 40) || 'Unknown browser'
  return system ? `${browser} on ${system}` : browser
}
