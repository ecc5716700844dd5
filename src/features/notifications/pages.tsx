/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The settings page on which people choose how they are notified. See docs/web.md, "Notifications". */
import { findPersonAlias } from '../../grid/people/person-aliases.ts'
import { Badge, Card, LocalTime, Notice, Time } from '../../html/components.tsx'
import { ChoiceList } from '../../html/fields.tsx'
import { ButtonForm, CsrfField, Form, SubmitButton, SubmitRow } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import type { Handler } from '../../request-context.ts'
import type { Store } from '../../store/store.ts'
import { formErrors, PageForm, readChoice } from '../../web/forms.tsx'
import type { FeatureNotice } from '../../web/notices.ts'
import { describeBrowser } from '../../web/people/settings-sessions.tsx'
import { settingsPage } from '../../web/settings.tsx'
import { type AccountPages, type PageDeps, type PublicPages, signedIn, type Visit } from '../../web/visit.ts'
import { endDigest, findDigest, setDigest } from './digests.ts'
import { publicPushKey } from './send-push.ts'
import type { DigestPeriod } from './store.ts'
import { listBrowsers, renewBrowser, subscribe, testNotifications, unsubscribe } from './subscriptions.ts'

export const notices = {
  browserOn: { code: 'browser-on', text: 'This browser now shows notifications of messages to you.' },
  browserOff: { code: 'browser-off', text: 'The browser no longer shows notifications.' },
  testSent: { code: 'test-sent', text: 'The test was sent. It should appear in a moment.' },
  testFailed: {
    code: 'test-failed',
    text:
      'The push service of a browser refused the test. Turn notifications off for that browser, and on again in it.',
    kind: 'warning',
  },
  digestOn: { code: 'digest-on', text: 'You get an email when you have unread messages.' },
  digestOff: { code: 'digest-off', text: 'You get no email about messages.' },
} as const satisfies Record<string, FeatureNotice>

export const settingsTab = { name: 'notifications', title: 'Notifications', words: 'push phone digest email' }

function tabPath(visit: Visit, ...action: string[]): string {
  return visit.path('settings', settingsTab.name, ...action)
}

type Browsers = Awaited<ReturnType<typeof listBrowsers>>

export function notificationPages(pages: AccountPages, { store }: PageDeps): void {
  const { get, post, may } = pages.may('view')
  const done = (visit: Visit, notice: FeatureNotice) => visit.done(notice, 'settings', settingsTab.name)
  const show = async (visit: Visit) => {
    const [personAlias, browsers, publicKey, digest] = await Promise.all([
      findPersonAlias(visit.account),
      listBrowsers(visit.account),
      store.keyRing.canSeal ? publicPushKey(store) : undefined,
      findDigest(visit.account),
    ])
    const content = personAlias
      ? (
        <>
          <BrowsersCard visit={visit} browsers={browsers} publicKey={publicKey} />
          <DigestCard visit={visit} digest={digest} />
        </>
      )
      : <NoAlias visit={visit} />
    return await settingsPage(visit, settingsTab.name, content)
  }

  get('/settings/notifications', show)
  may('use').post('/settings/notifications/browsers', async (visit) => {
    const { account, form, request } = visit
    await subscribe(store, account, {
      endpoint: form.get('endpoint') ?? '',
      p256dh: form.get('p256dh') ?? '',
      auth: form.get('auth') ?? '',
      userAgent: request.headers.get('user-agent') ?? '',
    })
    return done(visit, notices.browserOn)
  }, show)
  post('/settings/notifications/browsers/:browser/remove', async (visit) => {
    await unsubscribe(visit.account, visit.param('browser'))
    return done(visit, notices.browserOff)
  })
  may('use').post('/settings/notifications/test', async (visit) => {
    const { sent, browsers } = await testNotifications(store, visit.account, visit.membership)
    return done(visit, sent === browsers ? notices.testSent : notices.testFailed)
  }, show)
  may('use').post('/settings/notifications/digest', async (visit) => {
    const period = readChoice(visit.form, 'period', ['off', 'hourly', 'daily']) ?? 'off'
    await setDigest(visit.account, visit.visitor.user, period === 'off' ? undefined : period)
    return done(visit, period === 'off' ? notices.digestOff : notices.digestOn)
  }, show)
}

export function publicNotificationPages({ get, post }: PublicPages, { store }: PageDeps): void {
  // A subscribed browser sends this request by script.
  post('/notifications/renew', async (visit) => {
    await renewBrowser(store, signedIn(visit), visit.form.get('endpoint') ?? '')
    return new Response(null, { status: 204 })
  })
  // The target of a digest email's unsubscribe link. Opening it changes nothing, because email scanners open links.
  get('/unsubscribe/:token', ({ param }) =>
    barePage(
      { title: 'End these emails' },
      <>
        <h1>End these emails</h1>
        <p>
          You get no more emails about messages that wait in this account. You can ask for them again in its settings.
        </p>
        <form method='post' action={`/unsubscribe/${encodeURIComponent(param('token'))}`}>
          <SubmitButton isWhole>End these emails</SubmitButton>
        </form>
      </>,
    ))
}

function NoAlias({ visit }: { visit: Visit }) {
  return (
    <Card
      title='Notifications'
      lead='Get notified of messages to your alias in this account, and of those that mention it.'
    >
      {visit.may('use')
        ? (
          <p>
            You have no alias here yet. <a href={`${visit.path('settings', 'profile')}#my-alias`}>Choose one</a>{' '}
            first, so that agents can write to you.
          </p>
        )
        : <p class='soft'>Viewers have no alias. Your role is {visit.actor.role}.</p>}
    </Card>
  )
}

function BrowsersCard(
  { visit, browsers, publicKey }: { visit: Visit; browsers: Browsers; publicKey: string | undefined },
) {
  const now = visit.account.deps.now()
  const action = tabPath(visit, 'browsers')
  const test = tabPath(visit, 'test')
  const refused = formErrors(visit, action, []).rest ?? formErrors(visit, test, []).rest
  return (
    <Card
      title='In your browsers'
      lead='You are notified of messages to you, of messages that mention you, and of posts in channels that you follow. A notification names the sender and the place, never the text.'
    >
      {refused && <Notice kind='bad'>{refused}</Notice>}
      {browsers.length > 0 && (
        <Table
          id='browsers'
          caption='Browsers that are notified'
          rows={browsers}
          columns={[
            {
              title: 'Browser',
              cell: ({ userAgent, sessionId }) => (
                <span>
                  {describeBrowser(userAgent)}{' '}
                  {sessionId === visit.visitor.sessionId && <Badge kind='good'>this browser</Badge>}
                </span>
              ),
            },
            { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
            {
              title: 'Last notified',
              cell: ({ lastSuccessAt }) => <Time at={lastSuccessAt} now={now} />,
            },
            {
              title: 'Turn off',
              isUntitled: true,
              cell: ({ id }) => (
                <ButtonForm
                  action={tabPath(visit, 'browsers', id, 'remove')}
                  kind='quiet'
                  isSmall
                >
                  Turn off
                </ButtonForm>
              ),
            },
          ]}
        />
      )}
      {publicKey === undefined
        ? (
          <p class='soft'>
            This grid has no encryption keys, so it cannot send notifications. Its operator can add them.
          </p>
        )
        : <SubscribeForm action={action} publicKey={publicKey} />}
      {browsers.length > 0 && (
        <Form action={test}>
          <SubmitRow kind='plain'>Send a test</SubmitRow>
        </Form>
      )}
      <p class='soft'>
        On an iPhone or iPad, first add this site to the home screen, open it from there, and come back to this page. A
        browser is notified until you sign out in it.
      </p>
    </Card>
  )
}

function SubscribeForm({ action, publicKey }: { action: string; publicKey: string }) {
  const id = 'push-error'
  return (
    <>
      <form method='post' action={action} data-push={publicKey} data-error={id} data-needs-script>
        <CsrfField />
        {['endpoint', 'p256dh', 'auth'].map((name) => <input type='hidden' name={name} value='' />)}
        <SubmitRow>Turn on in this browser</SubmitRow>
        <p class='error' id={id} role='alert' hidden></p>
      </form>
      <noscript>
        <p class='soft'>Notifications need JavaScript.</p>
      </noscript>
    </>
  )
}

function DigestCard(
  { visit, digest }: { visit: Visit; digest: { period: DigestPeriod; nextAt: number } | undefined },
) {
  const isPossible = visit.account.deps.email.isConfigured
  const isVerified = visit.visitor.user.emailVerifiedAt !== null
  return (
    <Card
      title='By email'
      lead='An email says how many messages wait for you, who sent them, who mentioned you, and who posted in channels that you follow. It has no texts.'
    >
      {!isPossible && <p class='soft'>This grid does not send email.</p>}
      {isPossible && !isVerified && (
        <p class='soft'>
          Verify your email address under <a href={visit.path('settings', 'profile')}>Profile</a> first.
        </p>
      )}
      {digest && (
        <p>
          The next one can come at <LocalTime at={digest.nextAt} />.
        </p>
      )}
      {(digest || (isPossible && isVerified)) && (
        <PageForm visit={visit} action={tabPath(visit, 'digest')} fields={['period']}>
          <ChoiceList
            name='period'
            label='Send an email'
            values={[digest?.period ?? 'off']}
            options={[
              { value: 'off', title: 'Never' },
              { value: 'hourly', title: 'At most once an hour' },
              { value: 'daily', title: 'At most once a day', hint: 'At the time of day when you save this.' },
            ]}
          />
          <SubmitRow>Save</SubmitRow>
        </PageForm>
      )}
    </Card>
  )
}

/**
 * Ends the digest emails whose links contain this token. Needs no session, because email programs send this request
 * when their user presses a button. @see RFC 8058 §3.2
 */
export function unsubscribeFromDigest(store: Store): Handler {
  return async function unsubscribeFromDigest(c) {
    await endDigest(store, c.req.param('token')!)
    return await barePage(
      { title: 'The emails have ended' },
      <>
        <h1>The emails have ended</h1>
        <p>You get no more emails about messages that wait in this account.</p>
        <p>
          <a href='/'>To the grid</a>
        </p>
      </>,
    )
  }
}
