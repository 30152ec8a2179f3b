"""Reading equations of a jaxpr: what `Equation` inherits, by what the primitives are about."""
