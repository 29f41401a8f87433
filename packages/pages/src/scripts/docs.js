// Improves /docs: buttons that copy commands, and answers of "Try it" shown in the page. Nothing requires it.
{
  /** @param {Element} code */
  const copyButton = (code) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    const copied = () => {
      button.textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy'), 3000)
    }
    button.addEventListener('click', () => void navigator.clipboard.writeText(code.textContent).then(copied))
    return button
  }
  // Without a secure context there is no clipboard.
  if (navigator.clipboard)
    for (const code of document.querySelectorAll('.command, .client'))
      code.parentElement.before(copyButton(code))

  /**
   * @param {HTMLFormElement} form
   * @param {Element} output
   */
  const send = async (form, output) => {
    const query = Array.from(form.querySelectorAll('input'), ({ name, value }) => [name, value])
    const address = query.length === 0 ? form.action : `${form.action}?${new URLSearchParams(query)}`
    output.textContent = 'Waiting …'
    try {
      const answer = await fetch(address, { headers: { accept: 'application/json' }, credentials: 'omit' })
      output.textContent = `${answer.status}\n${JSON.stringify(await answer.json(), null, 2)}`
    } catch {
      output.textContent = 'No answer came. Try again later.'
    }
  }
  for (const form of document.forms) {
    if (!form.classList.contains('try')) continue
    const output = document.createElement('pre')
    output.setAttribute('role', 'status')
    output.tabIndex = 0
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (!output.parentElement) form.after(output)
      void send(form, output)
    })
  }
}
