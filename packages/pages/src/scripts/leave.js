// Improves the link "Leave this page": the page does not stay in the history, and three presses of Shift do the same.
// Old browsers read this too: nothing newer than ES2017.
{
  const [link] = document.querySelector('.leave').getElementsByTagName('a')
  const [status] = document.querySelector('.leave').getElementsByTagName('span')
  let presses = 0
  let timer = 0

  const leave = () => {
    // The page disappears at once, while the other site loads.
    document.documentElement.hidden = true
    document.title = ''
    location.replace(link.href)
  }

  /** @param {number} next */
  const count = (next) => {
    presses = next
    clearTimeout(timer)
    status.textContent = ['', status.dataset.twoMore, status.dataset.oneMore][presses]
    if (presses > 0) timer = setTimeout(count, 5000, 0)
  }

  addEventListener('keydown', (event) => {
    if (event.repeat) return
    const isShift = event.key === 'Shift' && !event.ctrlKey && !event.altKey && !event.metaKey
    if (!isShift) count(0)
    else if (presses === 2) leave()
    else count(presses + 1)
  })

  addEventListener('click', (event) => {
    const target = event.target instanceof Element && event.target.closest('a')
    if (!target || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (target === link) {
      event.preventDefault()
      leave()
    } else if (target.getAttribute('href').startsWith('#')) {
      // A place on this page gets no entry of its own in the history, so that one step back does not return here.
      event.preventDefault()
      location.replace(target.hash)
    }
  })

  document.querySelector('.risk [hidden]').removeAttribute('hidden')
}
