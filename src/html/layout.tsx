/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { isolated } from './bidi.tsx'
import { BackLink, Notice } from './components.tsx'
import { type AppFrame, BottomBar, Header, Jump, Shortcuts, SideNavigation } from './frame.tsx'
import { htmlResponse, type HtmlResponseOptions } from './html-response.tsx'
import { Logo } from './icons.tsx'

/** Events that update an open page: see `scripts/live.ts`. */
type FreshName = 'thread' | 'state' | 'presence' | `presence:${string}` | 'count' | 'attention' | 'minute'

export interface AppPage extends HtmlResponseOptions {
  title: string
  /** The `h1`, if it differs from the title. */
  heading?: Child
  /** One sentence below the title. */
  lead?: Child
  /** Buttons next to the title. */
  actions?: Child
  /** A link to the parent page. */
  back?: { title: string; href: string }
  /** Whether the content fills the window next to the navigation. It then contains its own `h1`. */
  isWhole?: boolean
  /** The events after which a browser with script reloads the content. See `scripts/live.ts`. */
  fresh?: FreshName[]
  /** The conversations whose message states the page keeps up to date. Requires `state` in `fresh`. */
  threads?: number[]
}

export interface BarePage extends HtmlResponseOptions {
  title: string
  /** Whether the page has full-width text, like the welcome page, instead of a narrow card. */
  isWide?: boolean
  /** Buttons next to the logo. */
  actions?: Child
}

/** Renders a page of the web application: header, navigation, title and content. */
export async function appPage(
  frame: AppFrame,
  { title, heading = title, lead, actions, back, isWhole, fresh, threads = [], ...options }: AppPage,
  content: Child,
) {
  const needs = await frame.needs
  return await htmlResponse(
    {
      timeZone: frame.timeZone,
      csrf: frame.csrf,
      ...options,
      scripts: [...frame.scripts ?? [], ...options.scripts ?? []],
      title: `${isolated(title)} · ${isolated(frame.account.name)}`,
      bodyClass: 'app',
    },
    <>
      <Header frame={frame} />
      <SideNavigation frame={frame} needs={needs} />
      <BottomBar frame={frame} needs={needs} />
      <main class={isWhole ? 'main whole-window' : 'main'} id='content' tabindex={-1} data-live={frame.account.id}>
        {frame.notice && <Notice kind={frame.notice.kind}>{frame.notice.text}</Notice>}
        {!isWhole && (
          <div class='page-head'>
            <div>
              {back && <BackLink {...back} />}
              <h1>{heading}</h1>
              {lead && <p>{lead}</p>}
            </div>
            {actions && <div class='row'>{actions}</div>}
          </div>
        )}
        {fresh
          ? (
            <div
              id='fresh'
              class='fresh'
              data-fresh={fresh.join(' ')}
              data-seq={frame.seq}
              data-watch={threads.length > 0 ? threads.join(' ') : undefined}
            >
              {content}
            </div>
          )
          : content}
      </main>
      <Jump account={frame.account.id} />
      {frame.user.shortcuts && <Shortcuts frame={frame} />}
    </>,
  )
}

/** Renders a page outside an account: sign-in, claim, consent or error. The content must contain the `h1`. */
export function barePage({ title, isWide, actions, ...options }: BarePage, content: Child): Promise<Response> {
  return htmlResponse(
    { ...options, title, bodyClass: isWide ? 'bare wide' : 'bare' },
    <>
      <header>
        <a class='mark' href='/'>
          <Logo />
          <span>agent-grid</span>
        </a>
        {actions && <div class='row'>{actions}</div>}
      </header>
      <main id='content' tabindex={-1}>{content}</main>
    </>,
  )
}
