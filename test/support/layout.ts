/** Checks whether an open page fits its window. */
import type { Page } from 'playwright-core'

/**
 * Finds faults of the open page at its current size. Faults are: horizontal scrolling of the page or a part, a control
 * smaller than 24 × 24 px, a text field too narrow for its input, and an invisible part outside its scroll container.
 * Code blocks and focusable parts may scroll, and links in a sentence may be smaller. The page must run scripts.
 * @see WCAG 2.2, 1.4.10 (reflow) and 2.5.8 (target size)
 */
export async function layoutFaults(page: Page): Promise<string[]> {
  await page.evaluate(settled)
  return await page.evaluate(findFaults)
}

/**
 * Waits until new colours are painted and all transitions have ended. After a resize, a page is complete in the second
 * frame.
 */
export const settled = `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))))
  .then(() => 0)`

const findFaults = `(() => {
  const found = []
  const all = (selector) => [...document.querySelectorAll(selector)].filter((part) =>
    part.checkVisibility({ visibilityProperty: true }) && !part.closest('.unseen, .skip'))
  const nameOf = (part) => part.outerHTML.slice(0, 80) + ' “' + part.textContent.trim().slice(0, 30) + '”'

  const excess = document.documentElement.scrollWidth - innerWidth
  if (excess > 0) found.push('is ' + excess + ' px too wide')
  for (const part of all('body *:not(pre, textarea, [tabindex="0"])')) {
    const isScroller = /auto|scroll/.test(getComputedStyle(part).overflowX)
    if (isScroller && part.scrollWidth > part.clientWidth + 1) found.push('scrolls sideways: ' + nameOf(part))
  }

  for (const part of document.querySelectorAll('.unseen')) {
    let scroller = part.parentElement
    while (scroller && !/auto|scroll/.test(getComputedStyle(scroller).overflow)) scroller = scroller.parentElement
    if (scroller && part.offsetParent && !scroller.contains(part.offsetParent)) {
      found.push('makes the page longer than it is: ' + nameOf(part))
    }
  }

  const isInSentence = (part) => getComputedStyle(part).display === 'inline' &&
    [...part.parentElement.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '')
  // A table below each picture has the same links.
  for (const control of all('a[href], button, input, select, textarea, summary')) {
    if (control.type === 'hidden' || isInSentence(control) || control.closest('svg')) continue
    // A label takes the clicks for its control.
    const target = control.matches('[type=checkbox], [type=radio]') ? control.closest('label') ?? control : control
    const { width, height } = target.getBoundingClientRect()
    if (width < 24 || height < 24) found.push('is ' + width + ' by ' + height + ' px small: ' + nameOf(target))
    const isText = control.matches('textarea, input:not([type=checkbox], [type=radio], [type=number])')
    if (isText && width < 128) found.push('is ' + width + ' px narrow: ' + nameOf(control))
  }
  return found
})()`
