export const AgentGrid = () => Promise.resolve({})
