/** How lists are searched: by a part of a text, without regard to the case of A to Z. The text is bound as `search`. */

/** The condition that the column contains the search text. */
export function contains(column: string): string {
  return `instr(lower(${column}), lower(:search)) > 0`
}

/** The condition that one of these columns or conditions matches the search text; an empty search text matches all. */
export function matchesSearchText(columns: string[], ...conditions: string[]): string {
  return `(${[`:search = ''`, ...columns.map(contains), ...conditions].join(' OR ')})`
}
