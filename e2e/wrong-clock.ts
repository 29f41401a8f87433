// A process loads this module before all others (`--import`). It shifts the wall clock of the process by `WRONG_BY_MS` milliseconds.
// A positive value makes the clock fast.
const offsetMs = Number(process.env['WRONG_BY_MS'])
const RealDate = Date
export const wrongNow = () => RealDate.now() + offsetMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => Reflect.construct(target, args.length > 0 ? args : [wrongNow()]),
  get: (target, name) => (name === 'now' ? wrongNow : Reflect.get(target, name)),
})
