import { parseArgs } from 'node:util'
import { AnswerRequest } from '@plainpath/domain'
import { answerQuestion } from './answer-question.ts'
import { preparePackagedKnowledge } from './knowledge.ts'

const USAGE = `npm run answer -- "QUESTION" [--fact TRIGGER=true|false]… [--date YYYY-MM-DD] [--answers-version VERSION] [--explain]

Prints the response that POST /api/answers would give with the guides in this checkout. --date sets the day for which the
answer is computed (default: today, UTC). With --answers-version, the command fails if the
answersVersion of this checkout differs. --explain adds the rules and scores.`

/** The base of the links in the answer. The command needs no server. */
const LINK_ORIGIN = 'http://localhost:8080'

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

/** Converts the values `true` and `false` to booleans. `AnswerRequest` rejects every other value. */
function parseFact(fact: string): [trigger: string, value: unknown] {
  const [trigger = '', value] = fact.split('=')
  if (value === 'true') return [trigger, true]
  if (value === 'false') return [trigger, false]
  return [trigger, value]
}

const request = AnswerRequest.safeParse({
  question: positionals.join(' '),
  facts: Object.fromEntries(values.fact.map(parseFact)),
})
const knowledge = preparePackagedKnowledge(LINK_ORIGIN)
const requiredVersion = values['answers-version']

if (values.help || positionals.length === 0) {
  console.error(USAGE)
  process.exitCode = values.help ? 0 : 2
} else if (!request.success) {
  for (const { path, message } of request.error.issues) console.error(`${path.join('.')}: ${message}`)
  process.exitCode = 2
} else if (requiredVersion !== undefined && requiredVersion !== knowledge.version) {
  console.error(`This checkout has answersVersion ${knowledge.version}, not the required ${requiredVersion}.`)
  process.exitCode = 1
} else {
  const today = values.date === undefined ? new Date() : new Date(`${values.date}T00:00:00Z`)
  const answer = answerQuestion(request.data, knowledge, today, { explain: values.explain })
  console.log(JSON.stringify(answer, undefined, 2))
}
