/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { Role } from '../auth/actor.ts'
import { Name } from './bidi.tsx'
import { Avatar, Badge, type NoticeKind } from './components.tsx'
import { CsrfField } from './form.tsx'
import { Icon, Logo } from './icons.tsx'
import { barSections, homePath, paths, searchPath, type Section, sectionPath, writePath } from './paths.ts'
import { SearchField } from './search-field.tsx'

/** The number of open items. `isUrgent` means that one of them ends within the hour. */
export interface FrameNeeds {
  open: number
  isUrgent: boolean
}

/** Data for the frame of a signed-in user's page: header, navigation and notice. */
export interface AppFrame {
  account: { id: string; name: string; role: Role }
  /** All of the user's accounts, including `account`. */
  accounts: { id: string; name: string; role: Role }[]
  /** The signed-in user. With `shortcuts`, single keys trigger actions on the page. */
  user: { name: string; email: string; shortcuts: boolean }
  /** The CSRF token for the forms in the frame. */
  csrf: string
  /** The account's sections, in navigation groups. */
  sections: readonly (readonly Section[])[]
  /** The current section's name, or `search`. Undefined on pages outside all sections. */
  current: string | undefined
  /** The `seq` of the newest message on the page. Undefined if unknown. */
  seq?: number
  /** The user's time zone. Undefined if unknown. */
  timeZone?: string
  /** The number of items that need the user, for the navigation. Undefined if unknown. */
  needs?: Promise<FrameNeeds | undefined>
  /** Paths of scripts in addition to the common one. */
  scripts?: readonly string[]
  /** The result of the last action, shown above the content. */
  notice?: { kind: NoticeKind; text: string }
}

/** The product name, account menu and user menu. The menus are `<details>`, which open without script. */
export function Header({ frame: { account, accounts, user } }: { frame: AppFrame }) {
  return (
    <header class='head'>
      <a class='mark' href={homePath(account.id)} aria-label='agent-grid'>
        <Logo />
        <span>agent-grid</span>
      </a>
      <details class='menu' data-menu>
        <summary>
          <span class='unseen'>Account:</span>
          <span class='name'>
            <Name text={account.name} />
          </span>
          <Badge>{account.role}</Badge>
          <Icon name='chevron' size={14} />
        </summary>
        <div class='list'>
          <p class='soft small'>{accounts.length > 1 ? 'Switch to another account' : 'Your only account'}</p>
          {accounts.map(({ id, name, role }) => (
            <a
              class='item'
              href={homePath(id)}
              aria-current={id === account.id ? 'true' : undefined}
            >
              <Name text={name} />
              <Badge>{role}</Badge>
            </a>
          ))}
          <hr />
          <a class='item' href={`${paths.newAccount}?from=${account.id}`}>
            <Icon name='plus' />
            New account
          </a>
        </div>
      </details>
      <a class='button search-link' href={searchPath(account.id)} data-opens='jump'>
        <Icon name='search' size={16} />
        <span>Search</span>
        <kbd data-needs-script>Ctrl K</kbd>
      </a>
      {account.role !== 'viewer' && (
        <a class='button write' href={writePath(account.id)}>
          <Icon name='edit' size={16} />
          <span>Write</span>
        </a>
      )}
      <details class='menu end user' data-menu>
        <summary>
          <Avatar name={user.name || user.email} />
          <span class='unseen'>Your menu:</span>
          <span class='name'>
            <Name text={user.name || user.email} />
          </span>
          <Icon name='chevron' size={14} />
        </summary>
        <div class='list'>
          <p class='small'>
            Signed in as<br />
            <strong>{user.email}</strong>
          </p>
          <hr />
          <a class='item' href={sectionPath(account.id, 'settings')}>
            <Icon name='settings' />
            Settings
          </a>
          {user.shortcuts && (
            <a class='item' href='#shortcuts' data-opens='shortcuts' data-needs-script>
              <Icon name='keyboard' />
              Keyboard
            </a>
          )}
          <form method='post' action={paths.signOut}>
            <CsrfField />
            <button type='submit' class='item'>
              <Icon name='leave' />
              Sign out
            </button>
          </form>
        </div>
      </details>
    </header>
  )
}

/** Larger numbers are shown as `99+`. */
const maxShownCount = 99

interface NavigationProps {
  frame: AppFrame
  needs: FrameNeeds | undefined
}

interface SectionProps extends NavigationProps {
  section: Section
  class?: string
}

function SectionLink({ section: { name, title }, frame: { account, current }, needs, class: className }: SectionProps) {
  const { open, isUrgent } = needs ?? { open: 0, isUrgent: false }
  return (
    <a class={className} href={sectionPath(account.id, name)} aria-current={name === current ? 'page' : undefined}>
      <Icon name={name} />
      {title}
      {name === 'attention' && (
        <span class={isUrgent ? 'count urgent' : 'count'} data-count hidden={open === 0}>
          {open > 0 && (
            <>
              {open > maxShownCount ? `${maxShownCount}+` : open}
              <span class='unseen'>open</span>
            </>
          )}
        </span>
      )}
    </a>
  )
}

/** Links to the account's sections, left of the page. Narrow windows show `BottomBar` instead. */
export function SideNavigation({ frame, needs }: NavigationProps) {
  return (
    <nav class='side' aria-label='Sections'>
      {frame.sections.map((sections) => (
        <ul>
          {sections.map((section) => (
            <li>
              <SectionLink section={section} frame={frame} needs={needs} />
            </li>
          ))}
        </ul>
      ))}
    </nav>
  )
}

/** The bottom bar of narrow windows: the main sections, the search, and a menu of the other sections. */
export function BottomBar({ frame, needs }: NavigationProps) {
  const sections = frame.sections.flat()
  const others = sections.filter(({ name }) => !barSections.includes(name))
  return (
    <nav class='bottom' aria-label='Sections'>
      <ul>
        {sections.filter(({ name }) => barSections.includes(name)).map((section) => (
          <li>
            <SectionLink section={section} frame={frame} needs={needs} />
          </li>
        ))}
        <li>
          <a href={searchPath(frame.account.id)} aria-current={frame.current === 'search' ? 'page' : undefined}>
            <Icon name='search' />
            Search
          </a>
        </li>
        <li>
          <details class='menu up' data-menu>
            <summary aria-current={others.some(({ name }) => name === frame.current) ? 'true' : undefined}>
              <Icon name='more' />
              More
            </summary>
            <div class='list'>
              {others.map((section) => <SectionLink section={section} frame={frame} needs={needs} class='item' />)}
            </div>
          </details>
        </li>
      </ul>
    </nav>
  )
}

/** A dialog that finds names, pages and actions as the user types. Messages are searched on a separate page. */
export function Jump({ account }: { account: string }) {
  return (
    <dialog id='jump' aria-label='Search' data-jump={`/accounts/${account}/jump`}>
      <form method='get' action={searchPath(account)} role='search'>
        <SearchField
          name='q'
          placeholder='Go to, do, or search'
          label='Find an agent, page or action, or search messages'
          aria-describedby='jump-hint'
          autocomplete='off'
          autofocus
        />
        <div data-found />
        <p class='soft small' id='jump-hint'>Enter opens the first result, Shift+Enter searches messages.</p>
      </form>
    </dialog>
  )
}

/** A dialog that lists the keyboard shortcuts. The shortcuts work only on pages with this dialog. */
export function Shortcuts({ frame: { account: { id: account, role }, sections } }: { frame: AppFrame }) {
  return (
    <dialog id='shortcuts' aria-labelledby='shortcuts-title'>
      <div class='dialog-head'>
        <h2 id='shortcuts-title'>Keyboard</h2>
        <a class='button quiet small' href='#' data-closes>Close</a>
      </div>
      <dl class='keys'>
        <Key keys={['j', 'k']}>Next and previous row</Key>
        <Key keys={['Enter']}>Open the row</Key>
        <Key keys={['u']}>Back to the list</Key>
        {role !== 'viewer' && (
          <>
            <Key keys={['r']}>Answer</Key>
            <Key keys={['e']}>Mark read or unread</Key>
            <Key keys={['n']}>
              <a href={`/accounts/${account}/next-unread`} data-key='n'>Next unread</a>
            </Key>
          </>
        )}
        <Key keys={['s']}>Snooze the row, on the page Attention</Key>
        <Key keys={['/']}>Search</Key>
        <Key keys={['Ctrl', 'K']}>Find anything by name, or an action</Key>
        {sections.flat().map(({ name, title, key }) =>
          key && (
            <Key keys={['g', key]}>
              <a href={sectionPath(account, name)} data-key={`g ${key}`}>{title}</a>
            </Key>
          )
        )}
        <Key keys={['Ctrl', 'Enter']}>Send what you write</Key>
      </dl>
      <p class='soft small'>
        <a href={`/accounts/${account}/settings/profile#keyboard`}>Turn single keys off</a>
      </p>
    </dialog>
  )
}

function Key({ keys, children }: { keys: string[]; children: Child }) {
  return (
    <>
      <dt>
        {keys.map((key, n) => (
          <>
            {n > 0 && ' '}
            <kbd>{key}</kbd>
          </>
        ))}
      </dt>
      <dd>{children}</dd>
    </>
  )
}
