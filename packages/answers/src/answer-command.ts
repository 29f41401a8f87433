import { parseArgs } from 'node:util'
import { AnswerRequest } from '@plainpath/domain'
import { answerQuestion } from './answer-question.ts'
import { preparePackagedKnowledge } from './knowledge.ts'

const USAGE = `npm run answer -- "QUESTION" [--fact TRIGGER=true|false]… [--date YYYY-MM-DD] [--answers-version N] [--explain]

Prints what POST /api/answers responds with, made from the guides of this checkout. --date is today unless given.
With --answers-version it fails if this checkout has another answers version. --explain adds the rules and scores.`

const ORIGIN = 'http://localhost:8080'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    fact: { type: 'string', multiple: true, default: [] },
    date: { type: 'string' },
    'answers-version': { type: 'string' },
    explain: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const facts = values.fact.map((fact): [string, unknown] => {
  const [trigger = '', value] = fact.split('=')
  // The schema below rejects any other value.
  return [trigger, value === 'true' || (value === 'false' ? false : value)]
})
const request = AnswerRequest.safeParse({
  question: positionals.join(' '),
  facts: Object.fromEntries(facts),
})
const knowledge = preparePackagedKnowledge(ORIGIN)
const requiredVersion = values['answers-version']

if (values.help || positionals.length === 0) {
  console.error(USAGE)
  process.exitCode = values.help ? 0 : 2
} else if (!request.success) {
  for (const { path, message } of request.error.issues) console.error(`${path.join('.')}: ${message}`)
  process.exitCode = 2
} else if (requiredVersion !== undefined && requiredVersion !== knowledge.version) {
  console.error(`This checkout has the answers version ${knowledge.version}.`)
  process.exitCode = 1
} else {
  const today = values.date === undefined ? new Date() : new Date(`${values.date}T00:00:00Z`)
  const answer = answerQuestion(request.data, knowledge, today, { explain: values.explain })
  console.log(JSON.stringify(answer, undefined, 2))
}
