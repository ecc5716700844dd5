/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { answer, type AnswerOptions } from './answer.tsx'
import { Notice, type NoticeKind } from './bits.tsx'
import { Header, SideNavigation } from './frame.tsx'
import { Icon, Mark } from './icons.tsx'
import type { NavItem } from './paths.ts'

export type Role = 'owner' | 'admin' | 'member' | 'viewer'

/** What stands around the content of a signed-in person's page. */
export interface AppFrame {
  account: { id: string; name: string; role: Role }
  /** Every account of the person, this one among them. */
  accounts: { id: string; name: string; role: Role }[]
  user: { name: string; email: string }
  /** The token of the session, for the forms of the frame. */
  csrf: string
  current: NavItem
  /** What just happened, said above the content. */
  notice?: { kind: NoticeKind; text: string }
}

export interface AppPage extends AnswerOptions {
  title: string
  /** One sentence below the title. */
  lead?: Child
  /** Buttons beside the title. */
  actions?: Child
  /** The page above this one, where there is one. */
  back?: { title: string; href: string }
}

export interface BarePage extends AnswerOptions {
  title: string
  /** Running text without a card, as on the welcome page. */
  isWide?: boolean
  /** Buttons beside the mark. */
  actions?: Child
}

/** A page of the web application: header, navigation, and the content below its title. */
export function appPage(frame: AppFrame, { title, lead, actions, back, ...options }: AppPage, content: Child) {
  return answer(
    { ...options, title: `${title} · ${frame.account.name}`, bodyClass: 'app' },
    <>
      <Header frame={frame} />
      <SideNavigation frame={frame} />
      <main class='main' id='content' tabindex={-1}>
        {frame.notice && <Notice kind={frame.notice.kind}>{frame.notice.text}</Notice>}
        <div class='page-head'>
          <div>
            {back && (
              <a class='back row' href={back.href}>
                <Icon name='back' size={14} />
                {back.title}
              </a>
            )}
            <h1>{title}</h1>
            {lead && <p>{lead}</p>}
          </div>
          {actions && <div class='row'>{actions}</div>}
        </div>
        {content}
      </main>
    </>,
  )
}

/** A page that belongs to no account: sign-in, claim, consent, errors. The content brings its `h1`. */
export function barePage({ title, isWide, actions, ...options }: BarePage, content: Child): Promise<Response> {
  return answer(
    { ...options, title, bodyClass: isWide ? 'bare wide' : 'bare' },
    <>
      <header>
        <a class='mark' href='/'>
          <Mark />
          <span>agent-grid</span>
        </a>
        {actions && <div class='row'>{actions}</div>}
      </header>
      <main id='content' tabindex={-1}>{content}</main>
    </>,
  )
}
