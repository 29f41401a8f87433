/** Is loaded first and shifts the wall clock of the process by the given milliseconds. */
const ahead = Number(process.env['WRONG_BY_MS'])
const Right = Date
export const wrongNow = () => Right.now() + ahead

globalThis.Date = new Proxy(Right, {
  construct: (target, given) => Reflect.construct(target, given.length > 0 ? given : [wrongNow()]),
  get: (target, name) => (name === 'now' ? wrongNow : Reflect.get(target, name)),
})
