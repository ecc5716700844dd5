/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Role } from '../auth/actor.ts'
import { Avatar, Badge, type NoticeKind } from './components.tsx'
import { CsrfField } from './form.tsx'
import { Icon, Logo } from './icons.tsx'
import { type NavItem, navItems, paths, sectionPath } from './paths.ts'

/** The data around the content of a signed-in user's page: header, navigation and notice. */
export interface AppFrame {
  account: { id: string; name: string; role: Role }
  /** All accounts of the user, including `account`. */
  accounts: { id: string; name: string; role: Role }[]
  user: { name: string; email: string }
  /** The CSRF token for the forms in the frame. */
  csrf: string
  current: NavItem
  /** Shown above the content: the result of the last action. */
  notice?: { kind: NoticeKind; text: string }
}

/** Product name, account menu and user menu. The menus are `<details>`, so they open without script. */
export function Header({ frame: { account, accounts, user, csrf } }: { frame: AppFrame }) {
  return (
    <header class='head'>
      <a class='mark' href={sectionPath(account.id, 'overview')} aria-label='agent-grid'>
        <Logo />
        <span>agent-grid</span>
      </a>
      <details class='menu' data-menu>
        <summary>
          <span class='unseen'>Account:</span>
          <span class='name'>{account.name}</span>
          <Badge>{account.role}</Badge>
          <Icon name='chevron' size={14} />
        </summary>
        <div class='list'>
          <p class='soft small'>{accounts.length > 1 ? 'Switch to another account' : 'Your only account'}</p>
          {accounts.map(({ id, name, role }) => (
            <a
              class='item'
              href={sectionPath(id, 'overview')}
              aria-current={id === account.id ? 'true' : undefined}
            >
              {name}
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
      <details class='menu end user spread' data-menu>
        <summary>
          <Avatar name={user.name || user.email} />
          <span class='unseen'>Your menu:</span>
          <span class='name'>{user.name || user.email}</span>
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
          <form method='post' action={paths.signOut}>
            <CsrfField token={csrf} />
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

const titles: Record<NavItem, string> = {
  overview: 'Overview',
  agents: 'Agents',
  channels: 'Channels',
  skills: 'Skills',
  guardrails: 'Guardrails',
  activity: 'Activity',
  settings: 'Settings',
}

/** Links to the sections of the account. */
export function SideNavigation({ frame: { account, current } }: { frame: AppFrame }) {
  return (
    <nav class='side' aria-label='Sections'>
      <ul>
        {navItems.map((item) => (
          <li>
            <a
              href={sectionPath(account.id, item)}
              aria-current={item === current ? 'page' : undefined}
              data-in-view={item === current ? '' : undefined}
            >
              <Icon name={item} />
              {titles[item]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
