/** `data-ago` on a `<time>`: says how long ago the page was made, and goes on counting. */
export const ago = `
for (const time of document.querySelectorAll('time[data-ago]')) {
  const tell = () => {
    const seconds = Math.floor(performance.now() / 1000)
    time.textContent = seconds < 60 ? seconds + ' s ago' : Math.floor(seconds / 60) + ' min ago'
  }
  tell()
  setInterval(tell, 5000)
}
`
