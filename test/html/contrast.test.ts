/** Design tokens by WCAG 2.2, 1.4.3 and 1.4.11: contrast 4.5:1 for text, 3:1 for field borders and focus. */
import { expect, test } from 'vitest'
import { tokens } from '../../src/html/styles/tokens.ts'

const colours = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)]
    .map(([, name, light, dark]) => [name, { light, dark }]),
)
const grounds = ['ground', 'panel', 'raised', 'sunk', 'hover']
const washes = ['accent', 'danger', 'warning', 'info']

const textPairs = [
  ...grounds.flatMap((ground) => [['ink', ground], ['soft', ground]]),
  ...['ground', 'panel', 'raised', 'sunk'].flatMap((ground) => [['accent', ground], ['danger', ground]]),
  ...washes.flatMap((name) => [[name, `${name}-wash`], ['ink', `${name}-wash`], ['soft', `${name}-wash`]]),
  ['accent', 'info-wash'],
  ['accent', 'warning-wash'],
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ['on-danger', 'danger'],
  ['on-danger', 'danger-strong'],
]
const nonTextPairs = [
  ...['ground', 'panel', 'raised'].flatMap((ground) => [['edge', ground], ['focus', ground], ['accent', ground]]),
  ...['danger', 'warning', 'info', 'soft'].map((colour) => [colour, 'panel']),
  ['focus', 'sunk'],
  ['focus', 'accent-wash'],
]

test.each([
  ...textPairs.map(([front, back]) => ({ front, back, least: 4.5 })),
  ...nonTextPairs.map(([front, back]) => ({ front, back, least: 3 })),
])('$front on $back has a contrast of at least $least', ({ front, back, least }) => {
  for (const scheme of ['light', 'dark'] as const) {
    const contrast = contrastOf(colours.get(front)![scheme], colours.get(back)![scheme])
    expect(contrast, `${scheme}: ${contrast.toFixed(2)}`).toBeGreaterThanOrEqual(least)
  }
})

/** @see WCAG 2.2, "contrast ratio" */
function contrastOf(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** @see WCAG 2.2, "relative luminance" */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((start) => {
    const part = parseInt(colour.slice(start, start + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
