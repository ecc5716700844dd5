/**
 * Finds table references in a statement that no condition ties to an account. Checks each branch separately: each side
 * of a UNION, each subquery, and both sides of each join. Used by the tripwire, `tripwire.ts`.
 */

/** The names of the account tables, and of the columns that refer to accounts. */
export interface AccountColumns {
  tables: readonly string[]
  /** Column names such as `account_id` and `sender_account_id`. */
  columns: readonly string[]
}

/** A word, a name, a symbol or `?`, or a list of the tokens in parentheses. */
type Token = string | Token[]

/** A table reference in a branch. `isNeeded` marks an account table, which must be tied to an account. */
interface Reference {
  table: string
  /** The position of the reference in the branch. */
  at: number
  isNeeded: boolean
  isTied: boolean
}

type Scope = Map<string, Reference>

const setOperators = new Set(['union', 'except', 'intersect'])
const joinWords = 'join inner left right full cross outer natural on using'.split(' ')
const clauseWords = new Set(
  'select from where set group order having limit returning values window'.split(' ').concat(joinWords),
)
const name = /^[\w"`[]/

/**
 * Returns the tables that a statement's branches read or write without an account, in branch order. A reference is tied
 * to an account by `account_id = ?`, or by an equality of accounts with a tied reference, in the same branch or an
 * enclosing one. Conditions next to an OR, after a NOT or in a list of fields do not tie a reference.
 */
export function untiedTables(sql: string, accounts: AccountColumns): string[] {
  return untiedInQuery(tree(sql), new Map(), accounts)
}

function untiedInQuery(tokens: Token[], around: Scope, accounts: AccountColumns): string[] {
  return split(tokens, (word) => setOperators.has(word)).flatMap((branch) => untiedInBranch(branch, around, accounts))
}

function untiedInBranch(tokens: Token[], around: Scope, accounts: AccountColumns): string[] {
  const { references, scope, written } = referencesOf(tokens, accounts.tables)
  const visible: Scope = new Map([...around, ...written, ...scope])
  const equalities = conditionsOf(tokens).flatMap(({ condition, leftJoin }) =>
    conjuncts(condition).flatMap((condition) => {
      const equality = equalityOf(condition, scope, visible, accounts)
      // The ON of a LEFT JOIN does not filter rows of earlier tables.
      const mayTie = (to: Reference | '?') => to !== '?' && (leftJoin === undefined || to.at === leftJoin)
      return equality ? [equality, equality.toReversed()].filter(([, to]) => mayTie(to)) : []
    })
  ) as [Reference | '?', Reference][]
  for (let hasChanged = true; hasChanged;) {
    hasChanged = false
    for (const [from, to] of equalities) {
      if (to.isTied || (from !== '?' && !from.isTied)) continue
      to.isTied = true
      hasChanged = true
    }
  }
  return [
    ...references.filter(({ isNeeded, isTied }) => isNeeded && !isTied).map(({ table }) => table),
    ...queriesIn(tokens).flatMap((query) => untiedInQuery(query, visible, accounts)),
  ]
}

/** Returns the table references of one branch, without its subqueries. */
function referencesOf(
  tokens: Token[],
  tables: readonly string[],
): { references: Reference[]; scope: Scope; written: Scope } {
  const references: Reference[] = []
  const scope: Scope = new Map()
  // The table into which an INSERT writes. Only RETURNING refers to this table by name.
  const written: Scope = new Map()
  let isInFrom = false
  tokens.forEach((token, at) => {
    if (typeof token !== 'string') return
    if (clauseWords.has(token)) isInFrom = token === 'from' || (isInFrom && joinWords.includes(token))
    const isTable = ['from', 'join', 'update', 'into'].includes(token) || (token === ',' && isInFrom)
    const next = tokens[at + 1]
    if (!isTable || next === undefined || next === 'set') return
    const table = typeof next === 'string' ? bare(next) : ''
    const reference = { table, at, isNeeded: tables.includes(table), isTied: false }
    references.push(reference)
    if (token === 'into') {
      const list = tokens[at + (tokens[at + 2] === 'as' ? 4 : 2)]
      // An INSERT without a column list copies complete rows, whose source is checked.
      reference.isTied = Array.isArray(list) ? list.some((column) => bare(column) === 'account_id') : list === 'select'
      written.set(table, reference)
      return
    }
    // Other tables count as tied, and so do computed lists, such as a subquery, whose branches are checked separately.
    if (!reference.isNeeded && table !== 'accounts') reference.isTied = true
    let alias = at + 2
    while (Array.isArray(tokens[alias]) || tokens[alias] === 'as') alias++
    const given = tokens[alias]
    const hasAlias = typeof given === 'string' && name.test(given) && !clauseWords.has(given)
    scope.set(hasAlias ? bare(given) : table, reference)
  })
  return { references, scope, written }
}

interface Condition {
  condition: Token[]
  /** The position of the LEFT JOIN to which this ON belongs, if any. */
  leftJoin: number | undefined
}

/** Returns the conditions of each WHERE and ON in the branch, except those in ON CONFLICT. */
function conditionsOf(tokens: Token[]): Condition[] {
  const found: Condition[] = []
  let current: Token[] | undefined
  let leftJoin: number | undefined
  for (const [at, token] of tokens.entries()) {
    if (token === 'conflict') return found.slice(0, -1)
    if (token === 'join') leftJoin = ['left', 'outer'].includes(String(tokens[at - 1])) ? at : undefined
    if (typeof token === 'string' && clauseWords.has(token)) {
      current = token === 'where' || token === 'on' ? [] : undefined
      if (current) found.push({ condition: current, leftJoin: token === 'on' ? leftJoin : undefined })
    } else current?.push(token)
  }
  return found
}

/** Splits a condition into the conditions that must all hold. */
function conjuncts(tokens: Token[]): Token[][] {
  if (tokens.includes('or')) return []
  return split(tokens, (word) => word === 'and').flatMap((condition) => {
    const [only] = condition
    return condition.length === 1 && Array.isArray(only) && !isQuery(only) ? conjuncts(only) : [condition]
  })
}

function equalityOf(
  condition: Token[],
  scope: Scope,
  visible: Scope,
  { columns }: AccountColumns,
): [Reference | '?', Reference | '?'] | undefined {
  const at = condition.indexOf('=')
  if (at < 0) return seqEqualityOf(condition, scope, visible)
  const sides = [condition.slice(0, at), condition.slice(at + 1)].map((whole) => {
    // A leading `+` is ignored, because it only prevents the planner from using an index.
    const side = whole[0] === '+' ? whole.slice(1) : whole
    if (side.length === 1 && side[0] === '?') return '?'
    const [column, dot, table] = side.map(bare).reverse()
    if (side.length !== 1 && !(side.length === 3 && dot === '.')) return undefined
    const reference = table === undefined ? onlyNeeded(scope) : visible.get(table)
    if (!reference) return undefined
    const isAccount = reference.table === 'accounts' ? column === 'id' : columns.includes(column)
    return isAccount ? reference : undefined
  })
  if (sides[0] && sides[1]) return [sides[0], sides[1]]
  return inboxEqualityOf(condition, scope, visible) ?? seqEqualityOf(condition, scope, visible)
}

const numberedTables = ['messages', 'deliveries', 'lease_releases']

/**
 * Finds the references in an equality of message numbers. Message numbers are unique in the grid, so a delivery has the
 * same recipient or sender as the row with the same number. A list or subquery of numbers is checked separately.
 */
function seqEqualityOf(
  condition: Token[],
  scope: Scope,
  visible: Scope,
): [Reference, Reference | '?'] | undefined {
  const rowOf = (side: Token[]): Reference | undefined => {
    const [column, dot, table] = side.map(bare).reverse()
    const isColumn = column === 'seq' && (side.length === 1 || (side.length === 3 && dot === '.'))
    if (!isColumn) return undefined
    return table === undefined ? onlyNeeded(scope) : visible.get(table)
  }
  const at = condition.findIndex((token) => token === '=' || token === 'in')
  const row = at < 0 ? undefined : rowOf(condition.slice(0, at))
  if (!row || !numberedTables.includes(row.table)) return undefined
  const right = condition.slice(at + 1)
  const [query] = right
  if (right.length === 1 && Array.isArray(query)) return isMessageNumber(query) ? [row, '?'] : undefined
  const other = condition[at] === '=' ? rowOf(right) : undefined
  return other && (numberedTables.includes(other.table) || !other.isNeeded) ? [row, other] : undefined
}

/** Tables whose column `seq` is not a message number. */
const otherNumbers = 'log|task_events|webhook_events|projections|sqlite_sequence'

/** Whether a subquery, with each side of a UNION, returns only numbers of messages and deliveries. */
function isMessageNumber(query: Token[]): boolean {
  return split(query, (word) => setOperators.has(word)).every((branch) =>
    new RegExp(`^(all )?select (\\w+ \\. )?seq from (?!(${otherNumbers})\\b)`).test(branch.map(bare).join(' '))
  )
}

const inboxTables = ['deliveries', 'lease_releases']

/**
 * A foreign key of `deliveries` ensures that an inbox belongs to one account. So an inbox number ties a delivery if the
 * row with that number is tied. A subquery that returns the number is checked separately.
 */
function inboxEqualityOf(
  condition: Token[],
  scope: Scope,
  visible: Scope,
): [Reference, Reference | '?'] | undefined {
  const sides = split(condition, (word) => word === '=').map((side) => side.map(bare).reverse())
  const [[column, ...from], right] = sides[1]?.[0] === 'inbox' ? sides.toReversed() : sides
  const delivery = from.length === 0 ? onlyNeeded(scope) : visible.get(from[1])
  if (column !== 'inbox' || !(delivery && (inboxTables.includes(delivery.table) || !delivery.isNeeded))) {
    return undefined
  }
  const query = condition.at(-1)!
  if (Array.isArray(query)) {
    return condition[condition.length - 2] === '=' && isNumber(query) ? [delivery, '?'] : undefined
  }
  const agent = visible.get(right?.[2])
  return right.length === 3 && right[0] === 'n' && agent?.table === 'agent_numbers' ? [delivery, agent] : undefined
}

/** Whether a subquery returns only agent numbers. */
function isNumber(query: Token[]): boolean {
  return /^select (agent_numbers \. )?n from agent_numbers where /.test(query.map(bare).join(' ')) &&
    !query.some((token) => typeof token === 'string' && setOperators.has(token))
}

/** Returns the account table to which a column without a qualifier belongs; undefined if there are several. */
function onlyNeeded(scope: Scope): Reference | undefined {
  const needed = [...scope.values()].filter(({ isNeeded }) => isNeeded)
  return needed.length === 1 ? needed[0] : undefined
}

/** Returns the subqueries of a branch, without nested ones. */
function queriesIn(tokens: Token[]): Token[][] {
  return tokens.flatMap((token) => {
    if (!Array.isArray(token)) return []
    return isQuery(token) ? [token] : queriesIn(token)
  })
}

function isQuery([first]: Token[]): boolean {
  return first === 'select' || first === 'with'
}

function split(tokens: Token[], isSeparator: (word: string) => boolean): Token[][] {
  const pieces: Token[][] = [[]]
  for (const token of tokens) {
    if (typeof token === 'string' && isSeparator(token)) pieces.push([])
    else pieces.at(-1)!.push(token)
  }
  return pieces
}

/** Splits a statement into tokens. Converts words to lower case, and omits string literals and comments. */
function tree(sql: string): Token[] {
  const open: Token[][] = [[]]
  const token = /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|\w+|\?\d*|<>|[<>=!]=|\S/g
  for (const [text] of sql.matchAll(token)) {
    if (text.startsWith('--')) continue
    if (text === '(') open.push([])
    else if (text === ')') {
      const inner = open.pop()!
      open.at(-1)!.push(inner)
    } else {open.at(-1)!.push(
        text.startsWith("'") ? "''" : text.startsWith('?') ? '?' : text.startsWith('"') ? text : text.toLowerCase(),
      )}
  }
  return open[0]
}

function bare(token: Token): string {
  return typeof token === 'string' ? token.replace(/^["`[]|["`\]]$/g, '').toLowerCase() : ''
}
