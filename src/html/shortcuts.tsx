/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { type NavItem, navItems, sectionPath } from './paths.ts'

/** The sections that have a key after `g`, as far as the navigation has them. */
const sectionKeys: [key: string, item: string, title: string][] = [
  ['c', 'conversations', 'Conversations'],
  ['a', 'attention', 'Attention'],
  ['n', 'network', 'Network'],
]

/** The dialog that tells of the keys, and by its presence turns them on. `account` is the id of the account. */
export function Shortcuts({ account }: { account: string }) {
  const sections = sectionKeys.filter(([, item]) => navItems.includes(item as NavItem))
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
        <Key keys={['r']}>Answer</Key>
        <Key keys={['e']}>Mark read or unread</Key>
        <Key keys={['n']}>
          <a href={`/accounts/${account}/next-unread`} data-key='n'>Next unread</a>
        </Key>
        <Key keys={['s']}>Snooze the row, on the page Attention</Key>
        <Key keys={['/']}>Search, where there is a field</Key>
        {sections.map(([key, item, title]) => (
          <Key keys={['g', key]}>
            <a href={sectionPath(account, item as NavItem)} data-key={`g ${key}`}>{title}</a>
          </Key>
        ))}
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
