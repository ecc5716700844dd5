/**
 * Attaches files in an `.entry`, where a person writes. Its `.chips` show each file as a chip with a remove button.
 * Files dropped on the page or pasted into the text are added. `data-attaches` on the field is the size limit of all
 * files in bytes. Without script, people use the browser's file field instead. Also grows the text field in browsers
 * that do not support this themselves.
 */
export const files = `
function setFiles(input, files) {
  const transfer = new DataTransfer()
  for (const file of files) transfer.items.add(file)
  input.files = transfer.files
  showFiles(input)
}
function sizeOf(bytes) {
  const [unit, name] = bytes < 1e3 ? [1, 'B'] : bytes < 1e5 ? [1e3, 'kB'] : [2 ** 20, 'MiB']
  return (bytes / unit).toFixed(unit > 1 ? 1 : 0) + ' ' + name
}
function showFiles(input) {
  const chosen = [...input.files]
  const most = Number(input.dataset.attaches)
  const excess = chosen.reduce((sum, file) => sum + file.size, 0) > most ? 'At most ' + most / 2 ** 20 + ' MiB fit in a message.' : ''
  input.setCustomValidity(excess)
  const chips = chosen.map(file => {
    const chip = document.createElement('span')
    chip.className = 'chip'
    const name = document.createElement('bdi')
    name.textContent = file.name
    const remove = document.createElement('button')
    remove.type = 'button'
    remove.className = 'button quiet'
    remove.textContent = '\\u00d7'
    remove.setAttribute('aria-label', 'Remove ' + file.name)
    remove.addEventListener('click', () => {
      setFiles(input, [...input.files].filter(other => other !== file))
      input.form.elements.text.focus()
    })
    chip.append(name, ' ' + sizeOf(file.size), remove)
    return chip
  })
  const problem = document.createElement('span')
  problem.className = 'error'
  problem.textContent = excess
  input.closest('.entry').querySelector('.chips').replaceChildren(...chips, ...excess ? [problem] : [])
}
on('change', '[data-attaches]', showFiles)
// A browser may restore the chosen files.
addEventListener('pageshow', () => document.querySelectorAll('[data-attaches]').forEach(showFiles))

on('paste', '.entry textarea', (area, event) => {
  const { types, files } = event.clipboardData
  // A spreadsheet cell is pasted as text and as a picture. Only the text is wanted.
  if (files.length === 0 || types.includes('text/plain')) return
  event.preventDefault()
  const input = area.closest('.entry').querySelector('[data-attaches]')
  setFiles(input, [...input.files, ...files])
})
const attaches = document.querySelector('[data-attaches]')
if (attaches) {
  const entry = attaches.closest('.entry')
  const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files')
  document.addEventListener('dragover', event => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    entry.classList.add('over')
  })
  document.addEventListener('dragleave', event => { if (!event.relatedTarget) entry.classList.remove('over') })
  document.addEventListener('drop', event => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    entry.classList.remove('over')
    const dropped = [...event.dataTransfer.items].filter(item => item.kind === 'file' && !item.webkitGetAsEntry?.()?.isDirectory)
    setFiles(attaches, [...attaches.files, ...dropped.map(item => item.getAsFile())])
  })
}
if (!CSS.supports('field-sizing', 'content')) {
  const grow = area => {
    area.style.height = 'auto'
    area.style.height = area.scrollHeight + 'px'
  }
  on('input', '.entry textarea', grow)
  document.querySelectorAll('.entry textarea').forEach(grow)
}
`
